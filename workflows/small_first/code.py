"""Code of the executor `small` until it passes the visible tests, twice at most; then the default one's."""


class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.until_passed = operator.UntilPassed(self.llm)

    async def __call__(self, problem: str, entry_point: str):
        code = await self.until_passed(
            problem=problem, entry_point=entry_point, most=2, executor="small"
        )
        if not code["passed"]:
            code = await self.until_passed(problem=problem, entry_point=entry_point, most=3)
        return code["solution"], 0.0
