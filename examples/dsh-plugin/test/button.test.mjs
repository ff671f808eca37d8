// The client half in headless Chromium, mounted as DSH mounts it.

import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'

import { Browser } from './browser.mjs'

const BOUND = { timeout: 120_000 }
const BUTTON = '.sessionref-copy button'
const STATUS = '.sessionref-copy [role=status]'
const LOGIN = ['login', { displayTitle: 'Fix [login]', cwd: '/work/shop' }]
const MENTION = '@[Fix [login\\]](dsh-session:ImxvZ2luIg)'

let browser
let page

before(async () => { browser = await Browser.launch() }, BOUND)
after(() => browser?.close())
beforeEach(async () => {
  page = await openSession()
  await page.evaluate(() => navigator.clipboard.writeText('nothing yet'))
}, BOUND)
afterEach(async () => {
  assert.deepEqual(page.failures, [])
  await page.close()
})

/** A page with a session in it. */
async function openSession(origin) {
  const page = await browser.open(origin)
  await page.evaluate((session) => window.dsh.open(...session), LOGIN)
  await page.waitForSelector(BUTTON)
  return page
}

/** Wait for what the button says of a click. */
function saying(text) {
  return page.waitForFunction(
    (selector, text) => document.querySelector(selector).textContent === text, {}, STATUS, text,
  )
}

/** Keep in the page when what the button says changes: `[text, milliseconds]`. */
function record() {
  return page.evaluate((selector) => {
    const status = document.querySelector(selector)
    window.said = []
    new MutationObserver(() => window.said.push([status.textContent, performance.now()]))
      .observe(status, { childList: true, characterData: true, subtree: true })
  }, STATUS)
}

test('a click copies the mention of the current session', BOUND, async () => {
  await page.evaluate(() => { document.execCommand = () => false }) // no selection, that is
  await page.click(BUTTON)
  await saying('Copied')
  assert.equal(await browser.clipboard(), MENTION)
})

test('where a page has no clipboard, a selection is copied', BOUND, async () => {
  await page.close()
  page = await openSession(browser.insecure)
  assert.equal(await page.evaluate(() => isSecureContext || navigator.clipboard), undefined)
  await page.focus('.draft')
  await page.keyboard.type('a draft')
  await page.click(BUTTON)
  await saying('Copied')
  assert.equal(await browser.clipboard(), MENTION)
  await page.bringToFront()
  assert.equal(await page.evaluate(() => document.querySelectorAll('textarea').length), 0)
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')),
    'Copy a reference to this session')
})

test('where the page may not write to the clipboard, a selection is copied', BOUND, async () => {
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new DOMException('no', 'NotAllowedError'))
  })
  await page.click(BUTTON)
  await saying('Copied')
  assert.equal(await browser.clipboard(), MENTION)
})

test('where nothing can be copied, that is said', BOUND, async () => {
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new DOMException('no', 'NotAllowedError'))
    document.execCommand = () => false
  })
  await page.click(BUTTON)
  await saying('Could not copy')
  await saying('')
})

test('"copied" goes away after about a second and a half', BOUND, async () => {
  await record()
  await page.click(BUTTON)
  await saying('Copied')
  await saying('')
  const [[copied, start], [nothing, end]] = await page.evaluate(() => window.said)
  assert.deepEqual([copied, nothing], ['Copied', ''])
  assert.ok(end - start >= 1_400, `${end - start} ms`)
  assert.ok(end - start < 30_000, `${end - start} ms`)
})

test('a second click keeps "copied" that much longer', BOUND, async () => {
  await record()
  await page.click(BUTTON)
  await saying('Copied')
  const again = await page.evaluate(async (selector) => {
    await new Promise((resolve) => setTimeout(resolve, 700))
    document.querySelector(selector).click()
    return performance.now()
  }, BUTTON)
  await saying('')
  const said = await page.evaluate(() => window.said)
  assert.deepEqual(said.map(([text]) => text), ['Copied', ''])
  assert.ok(said[1][1] - again >= 1_400, `${said[1][1] - again} ms`)
})

test('in Chinese and in English, and it follows the language', BOUND, async () => {
  for (const [language, name, copied] of [
    ['zh', '复制本会话的引用', '已复制'],
    ['en', 'Copy a reference to this session', 'Copied'],
  ]) {
    await page.evaluate((language) => window.dsh.speak(language), language)
    await page.waitForSelector(`${BUTTON}[aria-label="${name}"][title="${name}"]`)
    await page.click(BUTTON)
    await saying(copied)
    await saying('')
  }
})

test('it is a button with a name, works by keyboard, and tells what it did', BOUND, async () => {
  const { children } = await page.accessibility.snapshot({ interestingOnly: false })
  const all = (nodes) => nodes.flatMap((node) => [node, ...all(node.children ?? [])])
  const button = all(children).find(({ role }) => role === 'button')
  assert.equal(button.name, 'Copy a reference to this session')
  assert.equal(await page.$eval(STATUS, (status) => status.getAttribute('aria-live')), 'polite')
  assert.equal(await page.$eval(BUTTON, (button) => button.type), 'button')
  assert.equal(await page.$eval(`${BUTTON} svg`, (icon) => icon.getAttribute('aria-hidden')), 'true')
  await page.focus(BUTTON)
  await page.keyboard.press('Enter')
  await saying('Copied')
  assert.equal(await browser.clipboard(), MENTION)
})

const LABELS = [
  ['the title', 'a', { displayTitle: 'Fix login', cwd: '/work/shop' }, 'Fix login'],
  ['the project', 'a', { cwd: '/work/shop' }, 'shop'],
  ['the project, though the path ends in a slash', 'a', { displayTitle: '', cwd: '/work/shop//' }, 'shop'],
  ['the project on Windows', 'a', { cwd: 'C:\\work\\shop\\' }, 'shop'],
  ['the id where the project has no name', 'a', { cwd: '/' }, 'a'],
  ['the id where there is nothing else', 'a', {}, 'a'],
  ['the id where the list does not have it', 'a', undefined, 'a'],
]

for (const [what, id, summary, label] of LABELS) {
  test(`the label is ${what}`, BOUND, async () => {
    await page.evaluate((id, summary) => window.dsh.open(id, summary ?? undefined), id, summary)
    await page.click(BUTTON)
    await saying('Copied')
    assert.equal(await browser.clipboard(), `@[${label}](dsh-session:ImEi)`)
  })
}

test('URIs and mentions are those of the test vectors, byte for byte', BOUND, async () => {
  const { checked, differences } = await page.evaluate(async () => {
    const { uriOf, mentionOf } = window.dsh.plugin
    const cases = async (file) => (await (await fetch(`/vectors/${file}.json`)).json()).cases
    const ours = {
      encodeUri: ({ sessionId }) => ({ uri: uriOf(sessionId) }),
      formatMention: ({ sessionId, label }) => ({ mention: mentionOf(sessionId, label) }),
    }
    const all = [...await cases('uri'), ...await cases('mentions')]
      .filter(({ method, error }) => ours[method] !== undefined && error === undefined)
    return {
      checked: all.length,
      differences: all
        .filter(({ method, params, result }) =>
          JSON.stringify(ours[method](params)) !== JSON.stringify(result))
        .map(({ name }) => name),
    }
  })
  assert.deepEqual(differences, [])
  assert.equal(checked, 67)
})

test('unloaded, it leaves nothing behind, and it can be loaded again', BOUND, async () => {
  const counts = () => page.evaluate(() => [
    document.querySelectorAll('.sessionref-copy').length,
    document.querySelectorAll('style[data-plugin=sessionref-dsh-plugin]').length,
  ])
  await page.click(BUTTON)
  await page.evaluate(() => window.dsh.unload())
  await page.waitForFunction((selector) => document.querySelector(selector) === null, {}, BUTTON)
  assert.deepEqual(await counts(), [0, 0])
  await page.evaluate(() => window.dsh.load())
  await page.waitForSelector(BUTTON)
  assert.deepEqual(await counts(), [1, 1])
})
