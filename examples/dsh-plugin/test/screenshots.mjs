// Takes the pictures of the README anew: the button before and after a click. Chinese needs a font,
// such as Debian's fonts-wqy-zenhei.

import { fileURLToPath } from 'node:url'

import { Browser } from './browser.mjs'

const BUTTON = '.sessionref-copy button'
const SESSION = ['login', { displayTitle: 'Fix login', cwd: '/work/shop' }]

const browser = await Browser.launch()
try {
  const page = await browser.open()
  await page.setViewport({ width: 688, height: 166, deviceScaleFactor: 2 })
  await page.evaluate((session) => window.dsh.open(...session), SESSION)
  await page.waitForSelector(BUTTON)
  await take(page, 'before')
  for (const [language, name] of [['en', 'after'], ['zh', 'after-zh']]) {
    await page.evaluate((language) => window.dsh.speak(language), language)
    await page.click(BUTTON)
    await page.waitForSelector('.sessionref-copy [role=status]:not(:empty)')
    await take(page, name)
    await page.waitForSelector('.sessionref-copy [role=status]:empty')
  }
} finally {
  await browser.close()
}

function take(page, name) {
  return page.screenshot({ path: fileURLToPath(new URL(`../${name}.png`, import.meta.url)) })
}
