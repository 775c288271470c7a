import type { Page } from 'puppeteer-core'

/** Fills a form in and sends it; gives what the page then says. */
export async function send(
  page: Page,
  act: string,
  fields: Readonly<Record<string, string>>,
): Promise<string | null> {
  const named = `:has(input[name=act][value="${act}"])`
  const form = `form${named}`
  const at = await page.$(`details:not([open])${named} > summary`)
  await at?.click()
  for (const [name, value] of Object.entries(fields)) {
    const field = (await page.$(`${form} [name="${name}"]`))!
    const kind = String(await (await field.getProperty('type')).jsonValue())
    if (kind === 'select-one') await field.select(value)
    else if (kind === 'checkbox') await field.click()
    else {
      await field.click({ count: 3 })
      await page.keyboard.press('Backspace')
      if (kind !== 'date') await field.type(value)
    }
  }
  await Promise.all([page.waitForNavigation(), page.click(`${form} button`)])
  return page.$eval('main', (element) => element.textContent)
}
