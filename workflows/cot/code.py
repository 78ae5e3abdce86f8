"""Chain of thought (arXiv:2201.11903): a plan in words, then the function."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.custom = operator.Custom(self.llm)
        self.custom_code_generate = operator.CustomCodeGenerate(self.llm)

    async def __call__(self, problem: str, entry_point: str):
        plan = await self.custom(
            input=problem, instruction="Plan the function in three short steps. Write no code."
        )
        code = await self.custom_code_generate(
            problem=problem, entry_point=entry_point, instruction="Plan:\n" + plan["response"]
        )
        return code["response"], 0.0
