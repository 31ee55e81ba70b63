-- Adds a PENDING operation, whose parts are stored; or only tells whether it could be.
local id, owner, request_id, digest, record = ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10]
local part_count, size, is_trial = ARGV[11], tonumber(ARGV[12]), ARGV[13] == '1'
purge()
local earlier = request_id ~= '' and call('HGET', key('requests', owner), request_id)
if earlier and is_kept(earlier, owner) then
  return {'earlier', earlier, shown(earlier)}
end
if call('ZCARD', key('owned', owner)) >= kept_count then
  return {'many'}
end
if size > byte_limit or not (is_trial or make_room(owner, size, 0)) then
  return {'full'}
end
if is_trial then
  return {'new'}
end
local number = next_number()
write('HSET', key('owners'), id, owner)
call('HSET', key('record', id), 'owner', owner, 'number', number, 'state', 'pending',
  'digest', digest, 'record', record, 'created', integer(now), 'request_parts', part_count,
  'token', 0, 'attempts', 0, 'crashes', 0)
if request_id ~= '' then
  call('HSET', key('record', id), 'request_id', request_id)
  write('HSET', key('requests', owner), request_id, id)
end
set_expiry(id)
set_size(id, owner, size)
write('ZADD', key('owned', owner), number, id)
enqueue(id, owner, number)
return {'new', id, shown(id)}
