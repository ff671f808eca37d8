// Mounts the client half as DSH does, with DSH's own parts: its module system loads the script, its
// plugin system starts it, its registry and renderer put it into the slot, its locale service
// chooses the words. Made up are the list of sessions and the composer around the slot.

import * as cordis from '@deepseek-ai/cordis'
import * as uiSlots from '@deepseek-ai/dsh-client-ui-slots'

const { React, ReactDOM } = window
const SLOT = 'conversation.input.left'
const RUNTIME = '@deepseek-ai/dsh-client-runtime'
const RENDERER = '@deepseek-ai/dsh-client-ui-renderer'
const LOCALE = '@deepseek-ai/dsh-client-locale'
const PLUGIN = 'sessionref-dsh-plugin'

const jsx = (type, props, key) =>
  React.createElement(type, key === undefined ? props : { ...props, key })

/** What DSH's shell brings for all plugins. */
const SEEDS = {
  'react': React,
  'react-dom': ReactDOM,
  'react-dom/client': ReactDOM,
  'react/jsx-runtime': { jsx, jsxs: jsx, Fragment: React.Fragment },
  '@deepseek-ai/cordis': cordis,
  '@deepseek-ai/dsh-client-ui-slots': uiSlots,
  '@deepseek-ai/dsh-client-ui-primitives': {},
}

function observable(snapshot) {
  const listeners = new Set()
  return {
    getSnapshot: () => snapshot,
    subscribe: (listener) => { listeners.add(listener); return () => listeners.delete(listener) },
    set: (next) => { snapshot = next; for (const listener of [...listeners]) listener() },
  }
}

const list = observable({ ids: [], byId: {}, current: undefined })
const currentProvideInfo = observable(provided(undefined))

function provided(sessionId) {
  return { sessionId, hooks: {}, props: {} }
}

/** The composer: a draft, and the tool row with the slot in it. */
function Composer({ renderSlot, SessionProvider }) {
  const row = (sessionId) =>
    jsx('div', { className: 'tools', children: [
      jsx('span', { children: '＋' }, 'add'),
      renderSlot(SLOT, { session: { sessionId }, input: {} }),
    ] })
  return jsx('div', { className: 'card', children: [
    jsx('div', { className: 'draft', contentEditable: 'plaintext-only' }, 'draft'),
    jsx(SessionProvider, { children: row }, 'row'),
  ] })
}

const [registration] = window.__ModuleLoader__.pendingQueue.splice(0)
const exports = registration.factory(() => { throw new Error('nothing is there yet') })
const modules = exports.createClientModuleSystem(
  window.__ModuleLoader__,
  { id: registration.id, exports },
  {
    staticModules: SEEDS,
    boot: {
      rev: '1',
      entries: [RUNTIME, RENDERER, LOCALE, PLUGIN]
        .map((id) => ({ id, url: `/plugins/${id}/client.js`, rev: '1' })),
    },
  },
)

const ctx = new cordis.Context()
await ctx.plugin((await modules.import(RUNTIME)).SlotRegistry)
ctx.provide('sessions', { list, currentProvideInfo })
ctx.provide('workspaces', { list: observable({}) })
await ctx.plugin(await modules.import(RENDERER))
const { LocaleRuntime } = await modules.import(LOCALE)
const locale = new LocaleRuntime(ctx)
ctx.provide('locale', locale)
ctx.slots.installLocale(locale)
ctx.slots.register({ name: 'root', children: { [SLOT]: { kind: 'list', scope: 'session' } } }, Composer)
ctx.get('uiRenderer').mount(document.querySelector('#root'))

const plugin = await modules.import(PLUGIN)
let row = await ctx.plugin(plugin)

/** What the tests do with the host. */
window.dsh = {
  plugin,
  /** Make a session current, of which the list of sessions says this. */
  open(sessionId, summary) {
    list.set({ ids: [sessionId], byId: { [sessionId]: summary }, current: sessionId })
    currentProvideInfo.set(provided(sessionId))
  },
  speak: (language) => locale.setLocale(language),
  unload: () => row.dispose(),
  load: async () => { row = await ctx.plugin(plugin) },
}
