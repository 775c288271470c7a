import { Html, type HtmlPart, html } from './html.ts'
import type { Submission } from './page.ts'

/** Form that a page handles by POST. Works without scripts. */
export interface FormOptions {
  /** Name of its action in `actions` of the page. */
  readonly act: string
  readonly submit: string
  readonly fields?: readonly HtmlPart[]
  readonly hidden?: Readonly<Record<string, string>>
  /** Style of the button: `plain` for secondary, `danger` for destructive actions. */
  readonly kind?: 'plain' | 'danger'
  /** Accessible name of the button, if its text is ambiguous. */
  readonly label?: string
  /** Page that handles the form. @defaultValue the current page */
  readonly to?: string
}

/** Forms submit to this anchor: browsers otherwise keep the current one and scroll there. */
export const FLASH_ANCHOR = '#flash'

const booleanAttribute = (name: string, isSet: boolean | undefined): HtmlPart =>
  isSet === true && new Html(` ${name}`)

export const form = ({ act, submit, fields = [], hidden = {}, kind, label, to }: FormOptions) =>
  html`<form method="post" action="${to}${FLASH_ANCHOR}" class="${
    fields.length === 0 ? 'inline' : 'form'
  }"><input type="hidden" name="act" value="${act}">${Object.entries(hidden).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}${fields}<button type="submit"${kind !== undefined && html` class="${kind}"`}${
    label !== undefined && html` aria-label="${label}"`
  }>${submit}</button></form>`

interface FieldOptions {
  readonly name: string
  readonly label: string
  readonly hint?: HtmlPart
  readonly value?: string | undefined
  readonly required?: boolean
}

export interface TextField extends FieldOptions {
  readonly type?: 'text' | 'email' | 'url' | 'date' | 'datetime-local'
  readonly placeholder?: string
  /** Shows a numeric keyboard; the value is still text. */
  readonly numeric?: boolean
  readonly max?: number
  readonly autocomplete?: string
  /** Values that the browser offers; others are allowed, too. */
  readonly suggestions?: readonly string[]
  /** Rows of a text area. @defaultValue 1, a single-line field */
  readonly lines?: number
  /** Lets scripts fill the text area from a file (`FILE_SCRIPT`). */
  readonly file?: FileSource
  /** Width in characters. @defaultValue the available width */
  readonly size?: number
}

export interface FileSource {
  /** `accept` attribute: `.json,.yaml` */
  readonly accept: string
  readonly maxBytes: number
  /** Error message for a larger file. */
  readonly tooLarge: string
}

/** Name of what a form changes, as submitted in the hidden field `was`. */
export const submittedWas = (submission: Submission | undefined, act: string) =>
  submission?.act === act ? submission.values['was'] : undefined

/**
 * Field builders of one form.
 * @param hidden hidden fields that tell it apart from other forms of the page with its action
 */
export function formFields(
  act: string,
  submission: Submission | undefined,
  hidden: Readonly<Record<string, string>> = {},
) {
  const mine = submission?.act === act && hasValues(submission, hidden) ? submission : undefined
  const valueOf = ({ name, value = '' }: FieldOptions) => mine?.values[name] ?? value
  const idOf = ({ name }: FieldOptions) =>
    [act, ...(mine ? [] : Object.values(hidden)), name].filter(Boolean).join('-')
  /** Adds label, hint and error to an input, which receives the common attributes. */
  const labeled = (field: FieldOptions, input: (attributes: Html) => Html): Html => {
    const id = idOf(field)
    const error = mine?.errors[field.name]
    const notes = [field.hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
    const required = booleanAttribute('required', field.required)
    const attributes = html`id="${id}" name="${field.name}"${required}${
      notes !== '' && html` aria-describedby="${notes}"`
    }${error !== undefined && new Html(' aria-invalid="true"')}`
    return html`<div class="field"><label for="${id}">${field.label}${
      field.required !== true && html` <span class="optional">optional</span>`
    }</label>
${input(attributes)}${field.hint && html`<p class="hint" id="${id}-hint">${field.hint}</p>`}${
  error !== undefined && html`<p class="error" id="${id}-error">${toSentence(error)}</p>`
}</div>`
  }
  /** Checkbox: browsers send `on` if it is ticked, and nothing otherwise. */
  const check = (field: FieldOptions & { readonly checked?: boolean }): Html => {
    const id = idOf(field)
    const isOn = mine ? mine.values[field.name] === 'on' : field.checked === true
    const error = mine?.errors[field.name]
    return html`<div class="check"><input type="checkbox" id="${id}" name="${
      field.name
    }"${booleanAttribute('checked', isOn)}${booleanAttribute('required', field.required)}${
      field.hint && html` aria-describedby="${id}-hint"`
    }><label for="${id}">${field.label}</label>${
      field.hint && html`<p class="hint" id="${id}-hint">${field.hint}</p>`
    }${error !== undefined && html`<p class="error">${toSentence(error)}</p>`}</div>`
  }
  return {
    /** Refused values of this form, which are shown again. */
    submitted: mine,
    text: (field: TextField): Html =>
      labeled(field, (attributes) => textInput(field, idOf(field), valueOf(field), attributes)),
    select: (field: FieldOptions, options: SelectOptions): Html => {
      const list = selectOptions(options, valueOf(field))
      return labeled(field, (attributes) => html`<select ${attributes}>${list}</select>`)
    },
    check,
    /** Required checkbox before an irreversible action (`confirmedCheckbox`). */
    confirmation: (hint?: HtmlPart): Html =>
      check({ name: 'sure', label: 'I am sure', required: true, ...(hint && { hint }) }),
  }
}

const textInput = (field: TextField, id: string, value: string, attributes: Html): Html =>
  (field.lines ?? 1) > 1
    ? html`<textarea ${attributes} rows="${field.lines}" spellcheck="false">
${value}</textarea>${field.file && fileInput(id, field.label, field.file)}`
    : html`<input ${attributes} type="${field.type ?? 'text'}" value="${value}"${
        field.numeric === true && new Html(' inputmode="decimal"')
      }${field.size !== undefined && html` size="${field.size}"`}${
        field.max !== undefined && html` maxlength="${field.max}"`
      }${field.placeholder !== undefined && html` placeholder="${field.placeholder}"`}${
        field.suggestions && html` list="${id}-list"`
      }
${html`autocomplete="${field.autocomplete ?? 'off'}"`}>${
        field.suggestions && suggestionList(id, field.suggestions)
      }`

const hasValues = ({ values }: Submission, wanted: Readonly<Record<string, string>>): boolean =>
  Object.entries(wanted).every(([name, value]) => values[name] === value)

const suggestionList = (field: string, texts: readonly string[]): Html =>
  html`<datalist id="${field}-list">${texts.map(
    (text) => html`<option value="${text}">`,
  )}</datalist>`

/** File input without a name, so not submitted: `file.js` copies its text to the field. */
const fileInput = (into: string, label: string, file: FileSource): Html =>
  html`<input type="file" hidden data-into="${into}" data-max-bytes="${
    file.maxBytes
  }" data-too-large="${file.tooLarge}" accept="${file.accept}" aria-label="${label}, from a file">`

/** Validation message as a sentence: `is required` → `Is required.` */
export const toSentence = (text: string): string =>
  `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`

/** Option texts by value, or groups of options by label. */
type SelectOptions = Readonly<Record<string, string | Readonly<Record<string, string>>>>

export const selectOptions = (options: SelectOptions, selected: string): Html =>
  html`${Object.entries(options).map(([value, text]) =>
    typeof text === 'string'
      ? html`<option value="${value}"${booleanAttribute(
          'selected',
          value === selected,
        )}>${text}</option>`
      : html`<optgroup label="${value}">${selectOptions(text, selected)}</optgroup>`,
  )}`

/** Section that opens with a click on its heading. */
export const collapsible = (title: HtmlPart, content: HtmlPart, open = false): Html =>
  html`<details class="collapsible"${booleanAttribute(
    'open',
    open,
  )}><summary><h2>${title}</h2></summary>${content}
</details>`

/** Optional fields of a form that open with a click. @param open true to show their errors */
export const foldedFields = (title: string, fields: readonly HtmlPart[], open: boolean): Html =>
  html`<details${booleanAttribute('open', open)}><summary>${title}</summary> <div
class="stack">${fields}</div></details>`

/** Filters of a list, sent by GET, so that every filtered list has an address. */
export const filterBar = (path: string, fields: readonly HtmlPart[]): Html =>
  html`<form action="${path}" class="filters" role="search" aria-label="Filter">${fields}
<button type="submit" class="plain">Apply</button></form>`

export const filterField = (name: string, label: string, input: Html): Html =>
  html`<div><label for="filter-${name}">${label}</label>${input}</div>`

export const textFilter = (name: string, label: string, value: string, size: number): Html =>
  filterField(
    name,
    label,
    html`<input id="filter-${name}" name="${name}" value="${value}" size="${size}"
autocomplete="off">`,
  )

/** Filters `from` and `to`. */
export const periodFilters = (from: string | undefined, to: string | undefined): HtmlPart => [
  dayFilter('from', 'From', from),
  dayFilter('to', 'To', to),
]

export const dayFilter = (name: string, label: string, value: string | undefined): Html =>
  filterField(
    name,
    label,
    html`<input type="date" id="filter-${name}" name="${name}" value="${value}">`,
  )

export const selectFilter = (
  name: string,
  label: string,
  options: SelectOptions,
  selected: string,
): Html =>
  filterField(
    name,
    label,
    html`<select id="filter-${name}" name="${name}">${selectOptions(options, selected)}</select>`,
  )

/** Links that switch between views of a page; the current one is not a link. */
export const viewSwitch = (
  label: string,
  views: Readonly<Record<string, string>>,
  current: string,
  pathOf: (view: string) => string,
): Html =>
  html`<nav class="view-switch" aria-label="${label}">${Object.entries(views).map(([view, text]) =>
    view === current
      ? html`<strong aria-current="true">${text}</strong>`
      : html`<a href="${pathOf(view)}">${text}</a>`,
  )}</nav>`
