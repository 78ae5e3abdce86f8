"""Programs until two of five pass the visible tests; where none is shown, until two are equal."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.custom_code_generate = operator.CustomCodeGenerate(self.llm)
        self.until_agree = operator.UntilAgree(self.llm)

    async def __call__(self, problem: str, entry_point: str):
        best = await self.until_agree(
            ways=[
                lambda: self.custom_code_generate(
                    problem=problem, entry_point=entry_point, instruction=""
                )
            ],
            agree=2,
            most=5,
        )
        return best["answer"], 0.0
