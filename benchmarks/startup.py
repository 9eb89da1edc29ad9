"""What a command costs on the main example, whose table is small: start, plan, report, ledger.

In processor seconds, and beside the import of the libraries that read and count. Targets: 0.3 s
more than Python alone for --help, 0.7 s for a run.

Run: python benchmarks/startup.py [ROUNDS]
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from processes import Cost, measure, middle, verdict

TOP = Path(__file__).parents[1]
SPEC = "release_specs/clinic_visits.toml"
OF_TOOL = ("-m", "dprelease")
LIBRARIES = "import duckdb, pyarrow, numpy"
COMMANDS = {
    "python -c pass": ("-c", "pass"),
    LIBRARIES: ("-c", LIBRARIES),
    "dprelease --help": (*OF_TOOL, "--help"),
    "dprelease check": (*OF_TOOL, "check", SPEC),
    "dprelease plan": (*OF_TOOL, "plan", SPEC),
    "dprelease run": (*OF_TOOL, "run", SPEC),
    "the same again": (*OF_TOOL, "run", SPEC),
}
MOST = {"dprelease --help": 0.3, "dprelease run": 0.7}


def main() -> None:
    """Print one line for each command."""
    rounds = int(sys.argv[1]) if sys.argv[1:] else 11
    costs = {command: middle(all_costs[1:]) for command, all_costs in measured(rounds + 1).items()}
    floor = costs["python -c pass"].cpu
    unit = costs[LIBRARIES].cpu
    print(f"{rounds} rounds in turn, median processor seconds of all cores")
    print(f"{'':30} {'all':>6} {'more':>6} {'imports':>8}  target")
    for command, cost in costs.items():
        value = cost.cpu - floor if command == "dprelease --help" else cost.cpu
        most = MOST.get(command)
        target = "" if most is None else f"<= {most} {verdict(value, most)}"
        line = f"{command:30} {cost.cpu:6.3f} {cost.cpu - floor:6.3f} {cost.cpu / unit:7.2f}x"
        print(f"{line}  {target}".rstrip())


def measured(rounds: int) -> dict[str, list[Cost]]:
    """The costs of each command, in turn, each run with a ledger and an output of its own."""
    costs: dict[str, list[Cost]] = {command: [] for command in COMMANDS}
    for _ in range(rounds):
        with TemporaryDirectory() as name:
            folder = Path(name)
            for part in ("release_specs", "sample_data"):
                shutil.copytree(TOP / part, folder / part)
            for command, arguments in COMMANDS.items():
                costs[command].append(measure([sys.executable, *arguments], folder))
    return costs


if __name__ == "__main__":
    main()
