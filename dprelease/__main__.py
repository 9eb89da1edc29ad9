"""``python -m dprelease`` and the console script ``dprelease``."""

import sys


def main() -> None:
    """Run the command line on ``sys.argv`` and exit with its code."""
    import gc

    from dprelease.cli.guard import execute

    # A short-lived process that makes many small tuples and few cycles: collect rarely.
    gc.set_threshold(200_000, 50, 50)

    sys.exit(execute(sys.argv[1:]))


if __name__ == "__main__":
    main()
