-- Takes over an operation whose lease has ended, or takes the next one in turn.
local function abandoned()
  for _, id in ipairs(call('ZRANGEBYSCORE', key('running'), '-inf', now, 'LIMIT', 0, PURGE_COUNT)) do
    if read(id, 'state') == 'running' then
      write('INCR', key('resumed'))
      return id
    end
    forget(id)
  end
end

local function return_delayed()
  for _, id in ipairs(call('ZRANGEBYSCORE', key('delayed'), '-inf', now, 'LIMIT', 0, PURGE_COUNT)) do
    call('ZREM', key('delayed'), id)
    if read(id, 'state') == 'pending' then
      enqueue(id, owner_of(id), read(id, 'number'))
    else
      forget(id)
    end
  end
end

local function head(owner)
  for _, id in ipairs(call('ZRANGE', key('queue', owner), 0, -1)) do
    if read(id, 'state') == 'pending' then
      return id
    end
    forget(id)
  end
  call('SREM', key('waiting'), owner)
end

-- Fewest running first, then served longest ago, then asked first.
local function is_before(one, other)
  for i = 1, 3 do
    if one[i] ~= other[i] then
      return one[i] < other[i]
    end
  end
  return false
end

local function next_in_turn()
  local running = {}
  for _, id in ipairs(call('ZRANGE', key('running'), 0, -1)) do
    local owner = owner_of(id)
    running[owner] = (running[owner] or 0) + 1
  end
  local best, best_id, best_owner
  for _, owner in ipairs(call('SMEMBERS', key('waiting'))) do
    local count = running[owner] or 0
    local id = count < running_count and head(owner)
    if id then
      local turn = tonumber(call('ZSCORE', key('turns'), owner) or '0')
      local rank = {count, turn, tonumber(read(id, 'number'))}
      if not best or is_before(rank, best) then
        best, best_id, best_owner = rank, id, owner
      end
    end
  end
  if best_id then
    dequeue(best_id, best_owner)
    write('ZADD', key('turns'), next_number(), best_owner)
  end
  return best_id
end

allow_when_full()
purge()
return_delayed()
local id = abandoned() or next_in_turn()
if not id then
  return {}
end
local record = key('record', id)
call('HINCRBY', record, 'token', 1)
call('HINCRBY', record, 'attempts', 1)
call('HSET', record, 'state', 'running', 'started', integer(now), 'done', 0, 'planned', 0)
write('ZADD', key('running'), integer(now + lease_ms), id)
set_expiry(id)
return {id, read(id, 'token'), shown(id)}
