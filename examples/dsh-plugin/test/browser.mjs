// The page with the button in it, in headless Chromium.

import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

import puppeteer from 'puppeteer-core'

const PLUGIN = fileURLToPath(new URL('..', import.meta.url))
const MODULES = join(PLUGIN, 'node_modules')
const TYPES = {
  '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.json': 'application/json',
}

/** A name that a browser takes for that of another machine: no page there has a clipboard. */
const INSECURE = 'dsh.test'

/** Where the files behind a path are. */
function fileOf(path) {
  if (path === '/') return join(PLUGIN, 'test/page/index.html')
  if (path === '/plugins/sessionref-dsh-plugin/client.js') return join(PLUGIN, 'client.js')
  const [, kind, rest] = /^\/([a-z]+)\/(.*)$/.exec(normalize(path)) ?? []
  return {
    npm: join(MODULES, rest),
    page: join(PLUGIN, 'test/page', rest),
    plugins: join(MODULES, rest.replace(/client\.js$/, 'lib/client.js')),
    vectors: join(PLUGIN, '../../tests/vectors', rest),
  }[kind]
}

async function serve(request, response) {
  try {
    const file = fileOf(new URL(request.url, 'http://dsh').pathname)
    const content = await readFile(file)
    response.writeHead(200, { 'content-type': `${TYPES[extname(file)]}; charset=utf-8` }).end(content)
  } catch {
    response.writeHead(404).end()
  }
}

/** A browser and a server, to be closed. */
export class Browser {
  static async launch() {
    const server = createServer(serve)
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    const browser = await puppeteer.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: [
        ...(process.getuid() === 0 ? ['--no-sandbox'] : []),
        '--disable-dev-shm-usage', `--host-resolver-rules=MAP ${INSECURE} 127.0.0.1`,
      ],
    })
    const { port } = server.address()
    const origin = `http://127.0.0.1:${port}`
    await browser.defaultBrowserContext()
      .overridePermissions(origin, ['clipboard-read', 'clipboard-sanitized-write'])
    return Object.assign(new Browser(), { server, browser, origin, insecure: `http://${INSECURE}:${port}` })
  }

  /** A page with the button for a session; whatever goes wrong in it is thrown by `failures`. */
  async open(origin = this.origin) {
    const page = await this.browser.newPage()
    page.failures = []
    page.on('pageerror', (error) => page.failures.push(error.message))
    page.on('console', (message) => {
      if (['error', 'warn'].includes(message.type())) page.failures.push(message.text())
    })
    await page.goto(origin)
    await page.waitForFunction(() => window.dsh !== undefined)
    await page.bringToFront()
    return page
  }

  /** What is on the clipboard, as another page sees it. */
  async clipboard() {
    const page = await this.browser.newPage()
    await page.goto(`${this.origin}/vectors/uri.json`)
    await page.bringToFront()
    const text = await page.evaluate(() => navigator.clipboard.readText())
    await page.close()
    return text
  }

  async close() {
    await this.browser.close()
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }
}
