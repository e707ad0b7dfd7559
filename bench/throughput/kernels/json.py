import json
data = [{'id': i, 'name': f'item {i}', 'tags': ['a', 'b', str(i)]} for i in range(12_000)]
json.loads(json.dumps(data))
