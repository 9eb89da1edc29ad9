"""``python -m dprelease`` and the console script ``dprelease``."""

import sys


def main() -> None:
    """Run the command line on ``sys.argv`` and exit with its code."""
    from dprelease.cli.guard import execute

    sys.exit(execute(sys.argv[1:]))


if __name__ == "__main__":
    main()
