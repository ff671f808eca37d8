/**
 * The client half of the plugin: a button in the composer's tool row that copies a mention of the
 * current session, to be pasted into a message of another one.
 *
 * DSH's client loads plugins as scripts that hand in a factory, one file each, so this is no ES
 * module and imports nothing. It knows of the host what that needs: the slot, the list of sessions
 * and the language. Nothing is sent anywhere.
 */
window.__ModuleLoader__.load({
  id: 'sessionref-dsh-plugin',
  factory: (require) => {
    const { createElement, useEffect, useRef, useState } = require('react')

    const SLOT = 'conversation.input.left'
    const SCHEME = 'dsh-session:'

    /** How long what became of a click is shown, in milliseconds. */
    const FEEDBACK = 1_500

    const WORDS = {
      en: { copy: 'Copy a reference to this session', copied: 'Copied', failed: 'Could not copy' },
      zh: { copy: '复制本会话的引用', copied: '已复制', failed: '复制失败' },
    }

    const STYLE = `
      .sessionref-copy { display: inline-flex; align-items: center; gap: 4px; }
      .sessionref-copy button {
        display: inline-flex; align-items: center; justify-content: center; width: 28px; height: 28px;
        padding: 0; border: 0; border-radius: 8px; background: none; cursor: pointer;
        color: var(--dsw-alias-label-secondary, #61666b);
      }
      .sessionref-copy button:hover { background: var(--dsw-alias-interactive-bg-hover, #0000000d); }
      .sessionref-copy button:focus-visible { outline: 2px solid currentColor; }
      .sessionref-copy [role=status] {
        font-size: 12px; white-space: nowrap; color: var(--dsw-alias-label-secondary, #61666b);
      }`

    /**
     * The canonical URI of a session. Any string is an id, unpaired surrogates and all.
     * @param {string} sessionId
     */
    function uriOf(sessionId) {
      const bytes = new TextEncoder().encode(JSON.stringify(sessionId))
      const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
      return SCHEME + base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
    }

    /**
     * The canonical mention of a session.
     * @param {string} sessionId
     * @param {string} [label] by default the id
     */
    function mentionOf(sessionId, label = sessionId) {
      return `@[${label.replace(/[\\\]]/g, '\\$&')}](${uriOf(sessionId)})`
    }

    /**
     * What a session is called: its title, else the base name of its project, else its id.
     * @param {string} sessionId
     * @param {{displayTitle?: string, cwd?: string}} [summary] what the list of sessions says
     */
    function labelOf(sessionId, { displayTitle, cwd } = {}) {
      return displayTitle || cwd?.split(/[/\\]/).findLast((name) => name !== '') || sessionId
    }

    /**
     * Put a text on the clipboard. Browsers have the first way in secure pages only.
     * @param {string} text
     */
    async function copy(text) {
      try {
        await navigator.clipboard.writeText(text)
      } catch {
        copySelection(text)
      }
    }

    function copySelection(/** @type {string} */ text) {
      const focused = document.activeElement
      const field = document.createElement('textarea')
      field.value = text
      field.style.cssText = 'position: fixed; inset: 0 auto auto 0; opacity: 0'
      document.body.append(field)
      field.select()
      const isCopied = document.execCommand('copy')
      field.remove()
      if (focused instanceof HTMLElement) focused.focus()
      if (!isCopied) throw new Error('the browser does not let a page copy')
    }

    const ICON = createElement(
      'svg',
      {
        'aria-hidden': true, width: 16, height: 16, viewBox: '0 0 16 16', fill: 'none',
        stroke: 'currentColor', strokeWidth: 1.4, strokeLinecap: 'round', strokeLinejoin: 'round',
      },
      createElement('path', {
        d: 'm6.5 9.5 3-3M7.5 4.9 9 3.4A2.5 2.5 0 0 1 12.6 7l-1.5 1.5M8.5 11.1 7 12.6A2.5 2.5 0 0 1 3.4 9l1.5-1.5',
      }),
    )

    /** The button, with what becomes of a click beside it. The props are the slot's. */
    function CopyReference({ sessionId, useSessions, t }) {
      const summary = useSessions((sessions) => sessions.byId[sessionId])
      const [outcome, setOutcome] = useState()
      const timer = useRef()
      useEffect(() => () => clearTimeout(timer.current), [])

      async function onClick() {
        const isCopied = await copy(mentionOf(sessionId, labelOf(sessionId, summary)))
          .then(() => true, () => false)
        clearTimeout(timer.current)
        timer.current = setTimeout(() => setOutcome(undefined), FEEDBACK)
        setOutcome(isCopied ? 'copied' : 'failed')
      }

      return createElement(
        'span',
        { className: 'sessionref-copy' },
        createElement(
          'button',
          { type: 'button', 'aria-label': t('copy'), title: t('copy'), onClick },
          ICON,
        ),
        createElement('span', { role: 'status', 'aria-live': 'polite' }, outcome && t(outcome)),
      )
    }

    function apply(ctx) {
      ctx.effect(() => {
        const style = document.createElement('style')
        style.dataset.plugin = 'sessionref-dsh-plugin'
        style.textContent = STYLE
        document.head.append(style)
        return () => style.remove()
      }, 'sessionref: style')
      ctx.effect(() => ctx.locale.register('sessionref', WORDS), 'sessionref: words')
      ctx.slots.inject(SLOT, () =>
        ctx.slots.register(
          { name: SLOT, id: 'sessionref-copy', order: 50, locale: 'sessionref' },
          CopyReference,
        ),
      )
    }

    return { inject: ['slots', 'locale'], apply, mentionOf, uriOf, labelOf }
  },
})
