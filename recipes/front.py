"""The front of cost and accuracy of several results, as a picture that stands by itself.

    python recipes/front.py results/evaluation/{direct,cot,vote_of_3}_results.json --out front.svg

The chart is that of `llm-as-judge report RESULTS --html`. Colors follow the reader's light or dark setting.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.layout import read_results
from llm_as_judge.files import write_text
from llm_as_judge.views.report import page, results
from recipe import run


def picture(files: list[Path]) -> str:
    """SVG of the results that say what they cost.

    Raises:
        DataError: they are fewer than two.
        UserError: a file is not one of results.
    """
    named = {file.name.removesuffix("_results.json"): read_results(file) for file in files}
    chart = results.results_view(named).front
    if chart is None:
        raise DataError("a front needs two results files or more, each with accuracy and cost")
    drawn = page.environment().get_template("chart.svg").render(c=chart)
    style = page.template_text("style.css")
    size = f'<svg xmlns="http://www.w3.org/2000/svg" width="{chart.width}" height="{chart.height}"'
    ground = '<rect width="100%" height="100%" style="fill: var(--paper)"/>'
    head, _, rest = drawn.replace("<svg", size, 1).partition("\n")
    font = ".chart { font-family: system-ui, sans-serif; }"
    return f"{head}\n<style>{style}{font}</style>\n{ground}\n{rest}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    write_text(arguments.out, picture(arguments.results))
    print(arguments.out)


if __name__ == "__main__":
    run(main)
