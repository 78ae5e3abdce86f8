"""Direct call: the function, written once."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.custom_code_generate = operator.CustomCodeGenerate(self.llm)

    async def __call__(self, problem: str, entry_point: str):
        code = await self.custom_code_generate(
            problem=problem, entry_point=entry_point, instruction=""
        )
        return code["response"], 0.0
