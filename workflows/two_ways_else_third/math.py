"""A program and a chain of thought; where they disagree a free chain of thought decides."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.programmer = operator.Programmer(self.llm)
        self.answer_generate = operator.AnswerGenerate(self.llm)
        self.custom = operator.Custom(self.llm)
        self.until_agree = operator.UntilAgree(self.llm)

    async def __call__(self, problem: str):
        best = await self.until_agree(
            ways=[
                lambda: self.programmer(problem=problem),
                lambda: self.answer_generate(input=problem),
                lambda: self.custom(
                    input=problem,
                    instruction="Let's think step by step. Put the final answer in \\boxed{}.",
                ),
            ],
            agree=2,
            most=3,
        )
        return best["answer"], 0.0
