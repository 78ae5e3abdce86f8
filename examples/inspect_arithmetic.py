"""A served policy measured by an outside client, Inspect (pip install inspect_ai openai).

export JUDGE_BASE_URL=http://127.0.0.1:8080/v1 JUDGE_API_KEY=none
inspect eval examples/inspect_arithmetic.py --model openai-api/judge/llm-as-judge:math
"""

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

QUESTIONS = {
    "What is 17 * 3?": "51",
    "A box holds 12 red and 9 blue balls. How many balls are in it?": "21",
    "Tom has 40 euros and buys 3 books for 8 euros each. How many euros are left?": "16",
    "A train goes 60 km in one hour. How many km does it go in 4 hours?": "240",
    "What is 25 % of 80?": "20",
    "Anna is 4 years older than Ben, who is 9. How old is Anna?": "13",
}


@task
def arithmetic() -> Task:
    samples = [Sample(input=text, target=answer) for text, answer in QUESTIONS.items()]
    return Task(dataset=samples, solver=generate(), scorer=includes())
