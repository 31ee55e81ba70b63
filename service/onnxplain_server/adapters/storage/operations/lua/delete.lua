-- Forgets an operation.
local id, owner = ARGV[6], ARGV[7]
allow_when_full()
local is_found = is_kept(id, owner)
if is_found then
  forget(id)
end
return is_found and 1 or 0
