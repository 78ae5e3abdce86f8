"""The function, run against the visible tests and mended where it fails them."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.custom_code_generate = operator.CustomCodeGenerate(self.llm)
        self.test = operator.Test(self.llm)

    async def __call__(self, problem: str, entry_point: str):
        code = await self.custom_code_generate(
            problem=problem, entry_point=entry_point, instruction="Handle edge cases."
        )
        checked = await self.test(
            problem=problem, solution=code["response"], entry_point=entry_point
        )
        return checked["solution"], 0.0
