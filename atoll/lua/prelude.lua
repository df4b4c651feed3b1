-- What a script can reach, and nothing else. Runs once in a new runtime: takes what Python offers
-- as the module `kube`, returns the functions that compile and call scripts. Every call gets a
-- scope of its own, so that no call can leave anything behind for the next one.
local offered, available, withheld = ...
local error, loadstring, next, pairs, pcall = error, loadstring, next, pairs, pcall
local select, setfenv, tostring, type = select, setfenv, tostring, type

local function refusing(name)
  return function() error("function " .. name .. " is not available to customizations", 2) end
end

local function copied(from)
  local made = {}
  for name, value in next, from do made[name] = value end
  return made
end

-- Python's functions stay out of reach: scripts see only these closures.
local function asking(ask)
  return function(...)
    local understood, answer = ask(select("#", ...), ...)
    if not understood then error(answer, 2) end
    return answer
  end
end

local libraries = {kube = {}}
for name, ask in next, offered do libraries.kube[name] = asking(ask) end

-- Methods of strings come from the real library, so that is what has to be cut down.
for name in next, withheld.string do string[name] = refusing("string." .. name) end
for library, names in next, available.libraries do
  libraries[library] = {}
  for name in next, names do libraries[library][name] = _G[library][name] end
end
for name in next, withheld.string do libraries.string[name] = string[name] end

local shared = {_VERSION = _VERSION, print = function() end}
for name in next, available.functions do shared[name] = _G[name] end
for name in next, withheld.functions do shared[name] = refusing(name) end

local function scope()
  local made = copied(shared)
  local loaded = {}
  for name, library in next, libraries do loaded[name] = copied(library) end
  for name, library in next, loaded do
    if name ~= "kube" then made[name] = library end
  end
  made._G = made
  made.require = function(name)
    local library = loaded[name]
    if not library then error("module " .. tostring(name) .. " does not exist; there is kube", 2) end
    return library
  end
  return made
end

local function said(problem)
  local kind = type(problem)
  if kind == "string" or kind == "number" then return tostring(problem) end
  return "failed with a " .. kind .. " instead of a message"
end

local function compile(script)
  local chunk, problem = loadstring(script, "=script")
  if chunk then return chunk end
  return nil, said(problem)
end

local function defined(chunk, name)
  local made = scope()
  setfenv(chunk, made)
  local ran, problem = pcall(chunk)
  if not ran then return nil, said(problem) end
  local wanted = made[name]
  if type(wanted) == "function" then return wanted end
  return nil, "does not define the function " .. name
end

local function check(chunk, name)
  local _, problem = defined(chunk, name)
  return problem
end

local function call(chunk, name, ...)
  local wanted, problem = defined(chunk, name)
  if not wanted then return false, problem end
  local done, first, second = pcall(wanted, ...)
  if not done then return false, said(first) end
  return true, first, second
end

return compile, check, call
