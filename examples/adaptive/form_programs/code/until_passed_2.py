code = await until_passed(problem=problem, entry_point=entry_point, most=2)
return code["solution"]
