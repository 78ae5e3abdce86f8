code = await until_passed(problem=problem, entry_point=entry_point, most=4)
return code["solution"]
