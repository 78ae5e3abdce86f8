reply = await custom_code_generate(problem=problem, entry_point=entry_point, instruction="")
return reply["response"]
