-- Cancels a PENDING operation, and marks a RUNNING one.
local id, owner = ARGV[6], ARGV[7]
allow_when_full()
if not is_kept(id, owner) then
  return {}
end
local state = read(id, 'state')
if state == 'pending' or state == 'running' then
  call('HSET', key('record', id), 'is_cancel_requested', 1)
end
if state == 'pending' then
  finish(id, owner, 'cancelled')
  set_size(id, owner, attached_size(id))
end
return shown(id)
