-- One batch of one instance for one shard. Executed at most once: a sequence
-- number not above the last one is a duplicate, which reads and changes nothing.
--
-- KEYS  the instance's sequence number in this shard, then a key per item
-- ARGV  sequence number, us in which attempts decay, ms to keep the sequence
--       number, 8 bytes that name the instance, the items: op and 8 doubles each
--
-- Values are packed, little endian; times are in us since 1.7e15:
--   bucket  arrival, when attempts were last counted (doubles), attempts, us per
--           token (floats), for how long they are counted (us, 4 bytes): 28 bytes,
--           which with the string's header are 48, a size that allocators have
--   quota   units used before the counter was made, since then, when it was made
--   hold    per holder: 8 bytes that name it, places, wanted, until when
local seq, decay, name, items = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[4], ARGV[5]
local t = redis.call('TIME')
local now = (t[1] - 1700000000) * 1000000 + t[2]
local vals = redis.call('MGET', unpack(KEYS))

local prev, granted = 0, ''
if vals[1] and #vals[1] >= 8 then
  prev = struct.unpack('<d', vals[1])
  if prev >= 0 and prev < 1e16 then granted = string.sub(vals[1], 9) else prev = 0 end
end
local dup, gpos, grants, out = prev >= seq, 1, {}, {}
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min

-- A duplicate learns what its batch was granted; how much is free has changed.
local function again()
  if prev ~= seq or #granted < gpos + 7 then return 0 end
  gpos = gpos + 8
  return (struct.unpack('<d', granted, gpos - 8))
end

local function bucket(v, T, tau, hi, x0)
  local tat, S, tS, born = -1e300, 0, now, now
  if v and #v >= 28 then
    local a, c, b, T0, age = struct.unpack('<ddffI4', v)
    -- Anything else is not ours, and is overwritten.
    if a > -1e17 and a < 1e17 and b >= 0 and b < 1e15 and c > -1e17 and c < 1e17 and T0 > 0 and T0 < 1e17 then
      tat, S, tS = a, b, min(c, now)
      born = tS - age
      -- The rate has changed: what is owed is owed in tokens.
      if max(T0 - T, T - T0) > 1e-6 * T then tat = now + (tat - now) * (T / T0) end
    end
  end
  if x0 > tat then tat = x0 end
  if tat > now + hi then tat = now + tau end -- the clock went back, or the limit shrank
  return tat, S, tS, born
end

local function attempts(S, tS, born, att)
  S = S * math.exp((tS - now) / decay)
  if S < 0.5 then born = now end
  return S + att, born
end

local function keep(i, value, us) redis.call('SET', KEYS[i], value, 'PX', ceil(us / 1000)) end

local function age(born) return min(now - born, 4294967295) end

local function keepBucket(i, tat, S, born, T)
  keep(i, struct.pack('<ddffI4', tat, now, S, T, age(born)), max(5e6, tat - now + 10 * decay))
end

local function rate(i, v, A, T, x0, u, att, hi, tau)
  local tat, S, tS, born = bucket(v, T, tau, hi, x0)
  if not dup then
    S, born = attempts(S, tS, born, att)
    tat = min(max(tat + A * T, now + u), now + hi)
    keepBucket(i, tat, S, born, T)
  end
  return tat, S, age(born)
end

local function lease(i, v, give, T, M, want, att, frac, tau, least)
  -- Whoever shares the bucket may have run it into debt, which stays.
  local tat, S, tS, born = bucket(v, T, tau, tau + max(tau, 1e6), -1e300)
  if dup then return tat, S, again() end
  S, born = attempts(S, tS, born, att)
  -- What the bucket has refilled meanwhile can not be given back any more.
  if give > 0 then
    tat = tat - max(0, give * T - max(0, now - M))
  elseif give < 0 then -- spent without a lease, while cut off
    tat = max(tat, min(max(tat, now) - give * T, now + tau))
  end
  local base = max(tat, now)
  local free = floor((tau - (base - now)) / T + 1e-6)
  local g = min(want, max(least, floor(frac * free)), free)
  if g < least or g < 1 then g = 0 else tat = base + g * T end
  grants[#grants + 1] = struct.pack('<d', g)
  keepBucket(i, tat, S, born, T)
  return tat, S, g
end

local function quota(i, v, give, want, cap, x0, gen0, frac, ttl, least)
  local base, since, gen = 0, 0, 0
  if v and #v >= 24 then
    local a, b, c = struct.unpack('<ddd', v)
    if a >= 0 and a < 1e15 and b > -1e15 and b < 1e15 and c > -1e17 and c < 1e17 then base, since, gen = a, b, c end
  end
  if dup then return base + since, gen, again() end
  if gen == 0 then gen = now end
  -- The counter was lost since this instance saw it: it knows what was used.
  if gen0 ~= 0 and gen0 ~= gen then base = max(base, x0) end
  since = max(since - give, -base)
  local free = cap - base - since
  local g = min(want, max(least, floor(frac * free)), free)
  if g < least or g < 1 then g = 0 end
  since = since + g
  grants[#grants + 1] = struct.pack('<d', g)
  keep(i, struct.pack('<ddd', base, since, gen), ttl)
  return base + since, gen, g
end

local function hold(i, v, used, held, want, cap, ttl, most)
  local rest, n, sum, wants, mine = {}, 1, 0, want, 0
  for p = 1, (v and #v or 0) - 31, 32 do
    local who, q, w, till = struct.unpack('<c8ddd', v, p)
    if who == name then
      mine = q
    elseif till > now and till <= now + ttl + 1e6 and q >= 0 and q < 1e9 and w >= 0 and w < 1e9 then
      rest[#rest + 1] = string.sub(v, p, p + 31)
      n, sum, wants = n + 1, sum + q, wants + w
    end
  end
  if dup then return mine, n, sum + mine end
  local aim
  if wants <= cap then aim = want + (cap - wants) / n else aim = max(min(want, cap / n), cap * want / wants) end
  -- One at least, or of more holders than places none would get any.
  local g = max(0, min(max(min(1, want), floor(aim)), cap - sum, most))
  -- What it may use now counts until it has said that it will not.
  local q = max(g, held, used)
  if want > 0 or q > used or used > 0 then
    rest[#rest + 1] = struct.pack('<c8ddd', name, q, want, now + ttl)
  end
  if #rest > 0 then keep(i, table.concat(rest), 2 * ttl) elseif v then redis.call('DEL', KEYS[i]) end
  return g, n, sum + q
end

local ops = { r = rate, l = lease, q = quota, c = hold, p = hold }
for i = 2, #KEYS do
  local op, a, b, c, d, e, f, g, h = struct.unpack('<c1dddddddd', items, (i - 2) * 65 + 1)
  out[i - 1] = struct.pack('<ddd', ops[op](i, vals[i], a, b, c, d, e, f, g, h))
end
if not dup then
  redis.call('SET', KEYS[1], struct.pack('<d', seq) .. table.concat(grants), 'PX', ARGV[3])
end
return struct.pack('<dd', now, prev) .. table.concat(out)
