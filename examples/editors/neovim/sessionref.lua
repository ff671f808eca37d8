-- `@` completion of agent sessions in prompts, for Neovim 0.7 or newer.
--
--   require('sessionref').setup({ cmd = { 'sessionref', '--stdio' }, filetypes = { 'markdown' } })
--
-- with this file as `lua/sessionref.lua` in a folder of your runtimepath. Typing `@` opens the menu.
-- `:SessionrefExpand` appends the snapshots below the message; then send the buffer as you do
-- anyway, for instance `:%w !agent`. Errors show as diagnostics; `:lua print(vim.lsp.get_log_path())`
-- says where the log is.

local M = {}
local options = { cmd = { 'sessionref', '--stdio' }, filetypes = { 'markdown', 'gitcommit' }, settings = {} }
local client_id

local function client()
  return client_id and vim.lsp.get_client_by_id(client_id)
end

-- The menu for what is before the cursor. It is asked for anew at every key, since what is typed
-- behind an `@` may hold spaces, which no filter of the menu's own knows about.
local function complete()
  local server = client()
  local line = vim.api.nvim_get_current_line()
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local buffer = vim.api.nvim_get_current_buf()
  if not server or not line:sub(1, column):find('@', 1, true) then
    return
  end
  local params = vim.lsp.util.make_position_params(0, server.offset_encoding)
  server.request('textDocument/completion', params, function(err, list)
    local now_row, now_column = unpack(vim.api.nvim_win_get_cursor(0))
    local moved = now_row ~= row or now_column ~= column or vim.api.nvim_get_current_line() ~= line
    if err or moved or not list or #list.items == 0 or vim.fn.mode() ~= 'i' then
      return
    end
    local from = list.items[1].textEdit.range.start
    local start = vim.lsp.util._get_line_byte_from_position(buffer, from, server.offset_encoding)
    local matches = vim.tbl_map(function(item)
      return {
        word = item.textEdit.newText,
        abbr = item.label,
        menu = (item.labelDetails.description or '') .. (item.labelDetails.detail or ''),
        dup = 1,
        equal = 1,
        user_data = item,
      }
    end, list.items)
    vim.fn.complete(start + 1, matches)
  end, buffer)
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
    return
  end
  vim.lsp.buf_attach_client(buffer, client_id)
  vim.opt_local.completeopt = { 'menuone', 'noinsert', 'noselect' }
  vim.api.nvim_create_autocmd('TextChangedI', { buffer = buffer, callback = complete })
end

function M.setup(given)
  options = vim.tbl_extend('force', options, given or {})
  vim.api.nvim_create_autocmd('FileType', {
    pattern = options.filetypes,
    callback = function(event)
      attach(event.buf)
    end,
  })
  vim.api.nvim_create_user_command('SessionrefExpand', function()
    client().request('workspace/executeCommand', {
      command = 'sessionref.expand',
      arguments = { { uri = vim.uri_from_bufnr(0) } },
    }, function(err)
      if err then
        vim.notify('sessionref: ' .. err.message, vim.log.levels.ERROR)
      end
    end, vim.api.nvim_get_current_buf())
  end, {})
end

return M
