import { type Html, type HtmlPart, html } from './html.ts'
import { icon } from './icons.ts'
import { withQuery } from './table.ts'

/** Form that opens over the page. */
export interface Dialog {
  /** Names it in the address (`?edit=name`), as the action of its form. */
  readonly name: string
  /** Text of its button, with `…` if it has fields. */
  readonly button: string
  readonly title: string
  readonly content: Html
  readonly kind?: 'danger'
  /** True for a rarely needed one: its button is in a menu. */
  readonly isRare?: boolean
}

/**
 * Buttons that open dialogs, and the dialogs. They are popovers, which need no script. The one that
 * `open` names is part of the page instead, as by its address or to show the errors of its form.
 * @param path page without an open dialog
 * @param links beside the buttons
 */
export const dialogs = (
  all: readonly (Dialog | false | undefined)[],
  path: string,
  open: string | undefined,
  links?: Html,
): Html => {
  const list = all.filter((each) => each !== false && each !== undefined)
  const opened = list.find(({ name }) => name === open)
  const buttons = list.filter((each) => each !== opened)
  const usual = buttons.filter(({ isRare }) => !isRare)
  const rare = buttons.filter(({ isRare }) => isRare)
  return html`<div class="actions">${links}${usual.map(openButton)}${moreMenu(rare)}</div>
${list.map((each) => dialog(each, each === opened && path))}`
}

const MORE = 'more-actions'

const moreMenu = (rare: readonly Dialog[]): Html | false =>
  rare.length > 0 &&
  html`<button type="button" class="plain" popovertarget="${MORE}">More
${icon('ellipsis-horizontal')}</button><ul id="${MORE}" class="popover row-menu" popover>${rare.map(
    (each) => html`<li>${openButton(each)}</li>`,
  )}</ul>`

const idOf = (name: string): string => `dialog-${name}`

const openButton = ({ name, button, kind }: Pick<Dialog, 'name' | 'button' | 'kind'>): Html =>
  html`<button type="button" class="${kind ?? 'plain'}" popovertarget="${idOf(
    name,
  )}">${button}</button>`

/** @param path of the page to return to, if the dialog is part of the page */
function dialog({ name, title, content }: Dialog, path: string | false): Html {
  const id = idOf(name)
  const close =
    path === false
      ? html`<button type="button" class="plain" popovertarget="${id}"
popovertargetaction="hide">Close</button>`
      : html`<a class="button plain" href="${path}">Close</a>`
  return html`<dialog id="${id}" aria-labelledby="${id}-title" ${
    path === false ? POPOVER : OPEN
  }><h2 id="${id}-title">${title}</h2>${content}${close}</dialog>`
}

const POPOVER = html`popover`
const OPEN = html`open`

/** Address of a page with an open dialog. @param query of the page */
export const dialogPath = (
  path: string,
  name: string,
  query: Readonly<Record<string, string | undefined>> = {},
): string => `${withQuery(path, { ...query, edit: name })}#${idOf(name)}`

/**
 * Menu of a row: links to the pages and dialogs that manage it, and forms without fields.
 * @param id unique on the page
 */
export const rowMenu = (id: string, label: string, links: readonly HtmlPart[]): Html =>
  html`<button type="button" class="row-button" popovertarget="${id}"
aria-label="Actions for ${label}">${icon(
    'ellipsis-horizontal',
  )}</button><ul id="${id}" class="popover row-menu" popover>${links.map(
    (link) => link !== false && html`<li>${link}</li>`,
  )}</ul>`
