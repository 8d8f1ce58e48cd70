"""Chinese questions, in simplified and in traditional characters: `python -m evals.cmrc --data FOLDER`."""

import argparse
import sys
from collections.abc import Callable

from opencc import OpenCC

from evals import retrieval, shared


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find the passages that Chinese questions are about.")
    shared.add_data_argument(parser)
    parser.add_argument("--every", type=int, default=1, help="only every so many of the questions")
    given = parser.parse_args(arguments)
    folder = shared.require(given.data, "cmrc2018_zh")
    spellings: dict[str, Callable[[str], str]] = {"nDCG@10": str, "nDCG@10, traditional": OpenCC("s2t").convert}
    found = retrieval.run(folder, spellings, every=given.every)
    return shared.report("cmrc", {label: figures.ndcg for label, figures in found.items()})


if __name__ == "__main__":
    sys.exit(main())
