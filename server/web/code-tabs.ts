import { Html, html } from './html.ts'

const CHECKED = new Html(' checked')

/**
 * Code in several languages, one of which is shown. Radio buttons switch it without a script.
 * @param id unique on the page
 * @param about names the code for the buttons: `for POST /say`
 */
export function codeTabs(
  id: string,
  about: string,
  snippets: Readonly<Record<string, string>>,
): Html {
  const all = Object.entries(snippets)
  return html`<div class="code-tabs" role="group" aria-label="Code ${about}">${all.map(
    ([name], i) =>
      html`<input type="radio" class="tab" name="code-${id}" id="code-${id}-${i}"${
        i === 0 && CHECKED
      }><label for="code-${id}-${i}">${name}</label>`,
  )}${all.map(([name, text]) => copyableText(text, `Copy: ${name} ${about}`, name))}</div>`
}

/** Code block. Its copy button appears if scripts run. @param name of the code among others */
export const copyableText = (text: string, label: string, name?: string): Html =>
  html`<div class="snippet"${name !== undefined && html` data-name="${name}"`}>
<pre tabindex="0"><code>${text}</code></pre>
<button type="button" class="plain" data-copy aria-label="${label}" hidden>Copy</button></div>`
