"""How long the tool takes to start, beside Python alone. Target for --help: 0.3 s more.

Run: python benchmarks/startup.py [ROUNDS]
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from processes import measure, middle, verdict

MOST = 0.3
SPEC = Path(__file__).parents[1] / "release_specs" / "clinic_visits.toml"

COMMANDS = {
    "python -c pass": ("-c", "pass"),
    "dprelease --help": ("-m", "dprelease", "--help"),
    "dprelease check": ("-m", "dprelease", "check", str(SPEC)),
    "dprelease plan": ("-m", "dprelease", "plan", str(SPEC)),
}


def main() -> None:
    """Print one line for each command."""
    rounds = int(sys.argv[1]) if sys.argv[1:] else 11
    with TemporaryDirectory() as name:
        folder = Path(name)
        costs = {
            command: [measure([sys.executable, *arguments], folder)]  # fills the caches
            for command, arguments in COMMANDS.items()
        }
        for _ in range(rounds):
            for command, arguments in COMMANDS.items():
                costs[command].append(measure([sys.executable, *arguments], folder))
    print(f"{rounds} rounds in turn, median seconds")
    print(f"{'':18} {'all':>6} {'more':>6}  target")
    floor = middle(costs["python -c pass"][1:]).seconds
    for command, all_costs in costs.items():
        seconds = middle(all_costs[1:]).seconds
        more = seconds - floor
        target = f"<= {MOST} {verdict(more, MOST)}" if command.endswith("--help") else ""
        print(f"{command:18} {seconds:6.3f} {more:6.3f}  {target}".rstrip())


if __name__ == "__main__":
    main()
