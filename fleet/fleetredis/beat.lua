-- One instance's report on its gate. The script is the only writer of the
-- group and runs by itself, so what it has leased never passes the allocation.
--
-- KEYS  the group: a hash of one record per instance, and when it was made
-- ARGV  the instance's name, 18 packed doubles, ms to keep the group
local t = redis.call('TIME')
local now = (t[1] - 1700000000) * 1000000 + t[2]
local floor, max, min = math.floor, math.max, math.min
local me = ARGV[1]
local a = {}
for p = 1, #ARGV[2] - 7, 8 do a[#a + 1] = struct.unpack('<d', ARGV[2], p) end
local tick, cap, crit, other, held, want, U, ttl, hold, grace, reserve, fixed, expected, known, alone, mybase, shards, signature = unpack(a)

if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then redis.call('DEL', KEYS[1]) end
local all = redis.call('HGETALL', KEYS[1])
local born, mine, live, gone = nil, nil, {}, {}
for i = 1, #all, 2 do
  local who, v = all[i], all[i + 1]
  if who == 'born' then
    born = tonumber(v)
  else
    local r
    if #v >= 80 then
      r = { struct.unpack('<dddddddddd', v) }
      r[6] = min(r[6], now)
    end
    if who == me then
      mine = r
    elseif not r or now - r[6] > grace then
      if #gone < 1000 then gone[#gone + 1] = who end
    else
      -- Who has not been heard of for so long keeps no more than its base.
      if now - r[6] > hold then r[4] = min(r[4], r[7]) end
      live[#live + 1] = r
    end
  end
end
local fresh = not born or born > now
if fresh then born = now end
local learning = now - born < ttl

local n, C, sumq, wants, sumc, sumo, strangers = #live + 1, cap, 0, want, crit, other, 0
for _, r in ipairs(live) do
  C, sumq, wants, sumc, sumo = C + r[1], sumq + r[4], wants + r[5], sumc + r[2], sumo + r[3]
  if r[9] ~= shards or r[10] ~= signature then strangers = strangers + 1 end
end
if fixed > 0 then C = fixed end
local L = floor((1 - reserve) * C + 1e-9)
local heads = max(n, expected)
if learning then heads = max(heads, known) end
local base, free = floor(L / heads), max(0, L - sumq)

local g
if mine and mine[8] >= tick then
  g, base = mine[4], mine[7] -- a beat that was overtaken changes nothing
else
  local aim
  if wants <= L then aim = want + (L - wants) / n else aim = max(min(want, L / n), L * want / wants) end
  g = min(floor(aim + U), free)
  if learning then
    -- Others may hold what the store has forgotten: nobody gets more than it has.
    g = min(g, known > 0 and held or alone)
  end
  -- A smaller lease, or base, counts only when the instance has said that it
  -- keeps to it.
  local q = max(g, held, other)
  redis.call('HSET', KEYS[1], me,
    struct.pack('<dddddddddd', cap, crit, other, q, want, now, max(base, mybase), tick, shards, signature))
  if fresh then redis.call('HSET', KEYS[1], 'born', string.format('%.0f', born)) end
  if #gone > 0 then redis.call('HDEL', KEYS[1], unpack(gone)) end
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return struct.pack('<ddddddddd', now, g, base, n, sumc, sumo, C, strangers, learning and 1 or 0)
