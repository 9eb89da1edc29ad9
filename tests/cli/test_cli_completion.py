"""Shell completion: the scripts, and what a shell is answered."""

import shutil
import subprocess

import pytest

from dprelease.cli.app import COMMANDS


def complete(cli, *words, shell="bash"):
    line = " ".join(["dprelease", *words])
    answer = cli(
        _DPRELEASE_COMPLETE=f"{shell}_complete", COMP_WORDS=line, COMP_CWORD=str(len(words))
    )
    assert answer.code == 0, answer.err
    return answer.out.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_asks_the_tool(cli, shell):
    answer = cli("completion", shell)
    assert (answer.code, answer.err) == (0, "")
    assert f"_DPRELEASE_COMPLETE={shell}_complete" in answer.out
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=answer.out, text=True, check=True)


def test_commands_and_options_are_completed(cli):
    assert complete(cli, "pl") == ["plain,plan"]
    assert {word.removeprefix("plain,") for word in complete(cli, "")} == set(COMMANDS)
    assert "plain,--new-noise" in complete(cli, "run", "--n")


def test_a_mistaken_command_is_completed_with_nothing_and_said_nothing_of(cli):
    for words in (
        ("nosuch", ""),
        ("nosuch", "--"),
        ("budget", "nosuch", ""),
        ("check", "--no", ""),
    ):
        line = " ".join(["dprelease", *words])
        answer = cli(
            _DPRELEASE_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words))
        )
        assert (answer.code, answer.err) == (0, ""), words


def test_bash_itself_completes(cli, tmp_path):
    script = cli("completion", "bash").out
    tool = tmp_path / "dprelease"
    import sys

    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dprelease "$@"\n')
    tool.chmod(0o755)
    program = (
        f"{script}\nCOMP_WORDS=({tool} check --qu)\nCOMP_CWORD=2\n"
        f'_dprelease_completion {tool} --qu check\necho "${{COMPREPLY[@]}}"\n'
    )
    done = subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.split() == ["--quiet"], done.stderr
