reply = await programmer(problem=problem)
return reply["output"]
