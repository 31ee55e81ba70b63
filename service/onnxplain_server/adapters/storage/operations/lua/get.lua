-- Returns an operation, and repairs the index where Redis has evicted parts of it.
local id, owner = ARGV[6], ARGV[7]
if not is_kept(id, owner) then
  return {}
end
local state = read(id, 'state')
if state == 'pending' then
  local is_delayed = call('ZSCORE', key('delayed'), id)
  if not is_delayed and (not call('ZSCORE', key('queue', owner), id)
      or not call('ZSCORE', key('pending'), id) or call('SISMEMBER', key('waiting'), owner) == 0) then
    enqueue(id, owner, read(id, 'number'))
  end
elseif state == 'running' and not call('ZSCORE', key('running'), id) then
  write('ZADD', key('running'), integer(now + lease_ms), id)
end
if not call('ZSCORE', key('expiry'), id) then
  write('ZADD', key('expiry'), read(id, 'expires'), id)
end
if not call('ZSCORE', key('owned', owner), id) then
  write('ZADD', key('owned', owner), read(id, 'number'), id)
end
return shown(id)
