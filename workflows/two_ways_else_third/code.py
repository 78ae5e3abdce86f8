"""Code written at once and by a plan; where not both pass the visible tests it is written again."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.custom = operator.Custom(self.llm)
        self.custom_code_generate = operator.CustomCodeGenerate(self.llm)
        self.until_agree = operator.UntilAgree(self.llm)

    async def __call__(self, problem: str, entry_point: str):
        def direct():
            return self.custom_code_generate(
                problem=problem, entry_point=entry_point, instruction=""
            )

        async def planned():
            plan = await self.custom(
                input=problem, instruction="Plan the function in three short steps. Write no code."
            )
            return await self.custom_code_generate(
                problem=problem, entry_point=entry_point, instruction="Plan:\n" + plan["response"]
            )

        best = await self.until_agree(ways=[direct, planned, direct], agree=2, most=3)
        return best["answer"], 0.0
