-- Ends an operation, whose response is stored; each claim has parts of its own.
local id, token, state, part_count = ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local size, error_status = tonumber(ARGV[10]), ARGV[11]
allow_when_full()
if not is_held(id, token) then
  return 'lost'
end
local owner = owner_of(id)
if not make_room(owner, size, tonumber(call('HGET', key('sizes'), id) or '0')) then
  return 'full'
end
call('HSET', key('record', id), 'response_parts', part_count, 'response_bytes', integer(size),
  'error', error_status)
set_size(id, owner, size)
finish(id, owner, state)
return 'ok'
