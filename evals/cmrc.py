"""Chinese questions, in simplified and in traditional characters: `python -m evals.cmrc --data FOLDER`."""

import argparse
import sys

from opencc import OpenCC

from evals import retrieval, shared


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find the passages that Chinese questions are about.")
    shared.add_data_argument(parser)
    folder = shared.require(parser.parse_args(arguments).data, "cmrc2018_zh")
    found = retrieval.run(folder, {"nDCG@10": str, "nDCG@10, traditional": OpenCC("s2t").convert})
    return shared.report("cmrc", {label: figures.ndcg for label, figures in found.items()})


if __name__ == "__main__":
    sys.exit(main())
