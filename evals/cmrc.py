"""Chinese questions, in simplified and in traditional characters: `python -m evals.cmrc --data FOLDER`."""

import argparse
import sys
from collections.abc import Callable

from opencc import OpenCC

from evals import retrieval, shared


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find the passages that Chinese questions are about.")
    shared.add_data_argument(parser)
    shared.add_sample_argument(parser)
    given = parser.parse_args(arguments)
    folder = shared.require(given.data, "cmrc2018_zh")
    spellings: dict[str, Callable[[str], str]] = {"nDCG@10": str, "nDCG@10, traditional": OpenCC("s2t").convert}
    found = retrieval.run(folder, spellings, every=given.every)
    name = shared.sample_name("cmrc", given.every)
    return shared.report(name, {label: figures.ndcg for label, figures in found.items()})


if __name__ == "__main__":
    sys.exit(main())
