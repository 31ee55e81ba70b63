-- Ends an operation, whose response is stored.
local id, token, state, part_count = ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local size, error_status = tonumber(ARGV[10]), ARGV[11]
allow_when_full()
if not is_held(id, token) then
  if read(id, 'ended_by') ~= token then
    return 'lost'
  end
  -- The reply to this claim may have been lost.
  return read(id, 'state') == state and read(id, 'response_bytes') == ARGV[10] and 'ok' or 'ended'
end
local owner = owner_of(id)
if state == 'succeeded' then
  detach_parts(id, owner)
end
if not make_room(owner, size, size_of(id) - attached_size(id)) then
  return 'full'
end
call('HSET', key('record', id), 'response_parts', part_count, 'response_bytes', integer(size),
  'error', error_status, 'ended_by', token)
keep_parts(id, response_kind(token), tonumber(part_count))
set_size(id, owner, size + attached_size(id))
finish(id, owner, state)
return 'ok'
