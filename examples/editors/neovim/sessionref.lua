-- `@` completion of agent sessions in prompts, for Neovim 0.7 or newer.
--
--   require('sessionref').setup({ cmd = { 'sessionref', '--stdio' } })
--
-- with this file as `lua/sessionref.lua` in a folder of your runtimepath. Typing `@` opens the menu:
-- CTRL-N selects, CTRL-Y takes what is selected. `vim.lsp.buf.hover()` on a mention shows the session,
-- `vim.lsp.buf.code_action()` has the quick fixes. `:SessionrefExpand` appends the snapshots below the
-- message; then send the buffer as you do anyway, for instance `:%w !agent`. `:SessionrefCopy` puts the
-- mention of a session into the registers `"` and `+`.
--
-- Errors show as diagnostics and in `:messages`; `:lua print(vim.lsp.get_log_path())` says where the
-- log is. With a completion plugin of your own, say `menu = false`.

local M = {}

local options = {
  cmd = { 'sessionref', '--stdio' },
  filetypes = { 'markdown', 'text', 'gitcommit' },
  settings = {},
  menu = true,
}
local client_id
local asked -- what a menu was asked for last
local group = vim.api.nvim_create_augroup('sessionref', {})

local function client()
  return client_id and vim.lsp.get_client_by_id(client_id)
end

local function complain(message)
  vim.notify('sessionref: ' .. message, vim.log.levels.ERROR)
end

local function send(server, method, params, answered)
  local buffer = vim.api.nvim_get_current_buf() -- what was typed in it is sent before
  if vim.fn.has('nvim-0.11') == 1 then
    server:request(method, params, answered, buffer)
  else
    server.request(method, params, answered, buffer)
  end
end

-- Ask the server; `done` is called with the result, and errors are shown.
local function ask(method, params, done)
  local server = client()
  if not server then
    return complain('the server is not running')
  end
  send(server, method, params, function(err, result)
    if err then
      complain(err.message)
    else
      done(result)
    end
  end)
end

local function run(command, argument, done)
  ask('workspace/executeCommand', { command = command, arguments = { argument } }, done)
end

-- The byte of a line that a position of the protocol means.
local function byte_of(line, character, encoding)
  if encoding == 'utf-8' then
    return character
  elseif vim.fn.has('nvim-0.11') == 1 then
    return vim.str_byteindex(line, encoding, character, false)
  end
  return vim.str_byteindex(line, character, encoding == 'utf-16')
end

local function show_menu(column, items)
  local matches = vim.tbl_map(function(item)
    local details = item.labelDetails or {}
    return {
      word = item.textEdit.newText,
      abbr = item.label,
      menu = item.detail or ((details.description or '') .. (details.detail or '')),
      dup = 1,
      equal = 1, -- which ones are offered is the server's business
      user_data = item,
    }
  end, items)
  local yours = vim.o.completeopt
  vim.o.completeopt = 'menuone,noinsert,noselect'
  vim.fn.complete(column, matches)
  vim.o.completeopt = yours
end

local function spot()
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  return { line = vim.api.nvim_get_current_line(), row = row, column = column }
end

-- The menu for what is before the cursor. It is asked for anew at every key, since what is typed
-- behind an `@` may hold spaces, which no filter of the menu's own knows about.
local function complete()
  local server = client()
  local now = spot()
  local is_selecting = vim.fn.complete_info({ 'selected' }).selected >= 0
  local is_old = vim.deep_equal(now, asked) -- a menu that opens counts as a change of the text
  local has_sign = now.line:sub(1, now.column):find('@', 1, true)
  if not server or is_selecting or is_old or not has_sign then
    return
  end
  asked = now
  local params = vim.lsp.util.make_position_params(0, server.offset_encoding)
  send(server, 'textDocument/completion', params, function(err, list)
    if err or not vim.deep_equal(now, spot()) or vim.fn.mode() ~= 'i' then
      return
    end
    local items = list and list.items or {}
    if #items > 0 then
      local from = items[1].textEdit.range.start.character
      show_menu(byte_of(now.line, from, server.offset_encoding) + 1, items)
    elseif vim.fn.pumvisible() == 1 then
      vim.fn.complete(now.column + 1, {})
    end
  end)
end

local function attach(buffer)
  if not client() then
    client_id = vim.lsp.start_client({
      name = 'sessionref',
      cmd = options.cmd,
      root_dir = vim.fn.getcwd(),
      init_options = options.settings,
    })
  end
  if not client_id then
    return complain('the server can not be started')
  end
  vim.lsp.buf_attach_client(buffer, client_id)
  if options.menu then
    vim.api.nvim_clear_autocmds({ group = group, buffer = buffer })
    vim.api.nvim_create_autocmd(
      { 'TextChangedI', 'TextChangedP' },
      { group = group, buffer = buffer, callback = complete }
    )
  end
end

-- What a model would see of a session, where the server can not have it shown itself.
local function preview(command)
  run('sessionref.preview', command.arguments[1], function(text)
    if type(text) ~= 'string' then
      return
    end
    vim.cmd('new')
    vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(text, '\n', { plain = true }))
    vim.bo.buftype, vim.bo.bufhidden, vim.bo.modifiable = 'nofile', 'wipe', false
  end)
end

local function expand()
  run('sessionref.expand', { uri = vim.uri_from_bufnr(0) }, function() end)
end

local function copy()
  local agent = { id = options.settings.agentId or '', cwd = vim.fn.getcwd() }
  ask('sessionReference/listCandidates', { agent = agent }, function(found)
    local function label(candidate)
      return candidate.display.label
    end
    local asking = { prompt = 'Copy a reference to:', format_item = label }
    vim.ui.select(found.candidates, asking, function(candidate)
      if not candidate then
        return
      end
      run('sessionref.copyReference', { sessionId = candidate.sessionId }, function(mention)
        vim.fn.setreg('"', mention)
        pcall(vim.fn.setreg, '+', mention)
      end)
    end)
  end)
end

function M.setup(given)
  options = vim.tbl_extend('force', options, given or {})
  vim.lsp.commands['sessionref.preview'] = preview
  vim.api.nvim_create_user_command('SessionrefExpand', expand, {})
  vim.api.nvim_create_user_command('SessionrefCopy', copy, {})
  vim.api.nvim_create_autocmd('FileType', {
    group = group,
    pattern = options.filetypes,
    callback = function(event)
      attach(event.buf)
    end,
  })
  if vim.tbl_contains(options.filetypes, vim.bo.filetype) then
    attach(0)
  end
end

return M
