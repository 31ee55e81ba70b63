-- Attaches stored parts to an operation: its plan, or part of its answer in place of an earlier one.
local id, token, name, kind = ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local part_count, size = tonumber(ARGV[10]), tonumber(ARGV[11])
allow_when_full()
if not is_held(id, token) then
  return 'lost'
end
local owner, record = owner_of(id), key('record', id)
for _, each in ipairs(attachments(id)) do
  if each.kind == kind then
    -- The reply to this call may have been lost.
    return 'ok'
  end
end
if not make_room(owner, size, 0) then
  return 'full'
end
for _, each in ipairs(attachments(id)) do
  if each.name == name then
    detach(id, owner, each)
  end
end
call('HSET', record, 'attached:' .. name, kind .. ' ' .. integer(part_count) .. ' ' .. integer(size))
keep_parts(id, kind, part_count)
set_size(id, owner, size_of(id) + size)
if name ~= 'plan' then
  call('HINCRBY', record, 'part_count', 1)
  write('ZADD', key('evictable', owner), next_number(), id)
end
return 'ok'
