import { Html, html, type Part } from './html.ts'
import type { Sent } from './page.ts'

/** A form that its page takes by POST. It works without scripts. */
export interface Form {
  /** The name of what it does, in `acts` of the page. */
  readonly act: string
  readonly submit: string
  readonly fields?: readonly Part[]
  /** Beside the name, where a page has several forms that do the same: one for each row. */
  readonly hidden?: Readonly<Record<string, string>>
  /** `plain`: of lesser weight; `danger`: it takes something away. */
  readonly kind?: 'plain' | 'danger'
  /** For those who hear the page, where the button alone says too little. */
  readonly label?: string
  /** A page that takes it; left out: the one that shows it. */
  readonly to?: string
}

/**
 * Where the page that follows is shown from: what became of the form. Browsers would else keep the
 * part of the page that was linked to last, such as a field that was marked, and jump there.
 */
export const SAID = '#said'

const flag = (name: string, isSet: boolean | undefined): Part =>
  isSet === true && new Html(` ${name}`)

/** Fields below each other, and the button. */
export const form = ({ act, submit, fields = [], hidden = {}, kind, label, to }: Form): Html =>
  html`<form method="post" action="${to}${SAID}" class="${
    fields.length === 0 ? 'inline' : 'form'
  }"><input type="hidden" name="act" value="${act}">${Object.entries(hidden).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}${fields}<button type="submit"${kind !== undefined && html` class="${kind}"`}${
    label !== undefined && html` aria-label="${label}"`
  }>${submit}</button></form>`

/** What a field of any kind has. */
interface Named {
  readonly name: string
  readonly label: string
  readonly hint?: Part
  readonly value?: string | undefined
  readonly required?: boolean
}

export interface TextField extends Named {
  readonly type?: 'text' | 'email' | 'url' | 'date' | 'datetime-local'
  readonly placeholder?: string
  /** For numbers and amounts, which are texts too. */
  readonly numeric?: boolean
  readonly max?: number
  readonly autocomplete?: string
  /** What browsers offer while it is typed; others may be written, too. */
  readonly suggestions?: readonly string[]
  /** Lines; more than one is a text of its own. */
  readonly lines?: number
  /** Of such a text: that it may be read from a file, where scripts run (`FILE_SCRIPT`). */
  readonly file?: TextFile
  /** So many characters wide; left out: as wide as there is room for. */
  readonly size?: number
}

export interface TextFile {
  /** As `accept` of HTML has it: `.json,.yaml`. */
  readonly accept: string
  readonly maxBytes: number
  /** What to do with a larger one. */
  readonly else: string
}

/**
 * The fields of one form: as it was sent, if that did not pass, and otherwise as they are.
 * @param place which of several forms of the page that do the same
 */
export function fieldsOf(act: string, sent: Sent | undefined, place?: string) {
  const mine = sent?.act === act ? sent : undefined
  const valueOf = ({ name, value = '' }: Named) => mine?.values[name] ?? value
  const form = place === undefined || mine ? act : `${act}-${place}`
  const idOf = ({ name }: Named) => `${form}-${name}`
  /** Label, hint and what is wrong, around a field that is told of them. */
  const around = (field: Named, write: (told: Html) => Html): Html => {
    const id = idOf(field)
    const error = mine?.errors[field.name]
    const notes = [field.hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
    const told = html`id="${id}" name="${field.name}"${flag('required', field.required)}${
      notes !== '' && html` aria-describedby="${notes}"`
    }${error !== undefined && new Html(' aria-invalid="true"')}`
    return html`<div class="field"><label for="${id}">${field.label}${
      field.required !== true && html` <span class="optional">optional</span>`
    }</label>
${write(told)}${field.hint && html`<p class="hint" id="${id}-hint">${field.hint}</p>`}${
  error !== undefined && html`<p class="error" id="${id}-error">${sentence(error)}</p>`
}</div>`
  }
  /** Comes as `on`, or not at all. */
  const check = (field: Named & { readonly checked?: boolean }): Html => {
    const id = idOf(field)
    const isOn = mine ? mine.values[field.name] === 'on' : field.checked === true
    const error = mine?.errors[field.name]
    return html`<div class="check"><input type="checkbox" id="${id}" name="${field.name}"${flag(
      'checked',
      isOn,
    )}${flag('required', field.required)}${
      field.hint && html` aria-describedby="${id}-hint"`
    }><label for="${id}">${field.label}</label>${
      field.hint && html`<p class="hint" id="${id}-hint">${field.hint}</p>`
    }${error !== undefined && html`<p class="error">${sentence(error)}</p>`}</div>`
  }
  return {
    text: (field: TextField): Html =>
      around(field, (told) =>
        (field.lines ?? 1) > 1
          ? html`<textarea ${told} rows="${field.lines}" spellcheck="false">
${valueOf(field)}</textarea>${field.file && fileInput(idOf(field), field.label, field.file)}`
          : html`<input ${told} type="${field.type ?? 'text'}" value="${valueOf(field)}"${
              field.numeric === true && new Html(' inputmode="decimal"')
            }${field.size !== undefined && html` size="${field.size}"`}${
              field.max !== undefined && html` maxlength="${field.max}"`
            }${field.placeholder !== undefined && html` placeholder="${field.placeholder}"`}${
              field.suggestions && html` list="${idOf(field)}-list"`
            }
${html`autocomplete="${field.autocomplete ?? 'off'}"`}>${
              field.suggestions && suggestionList(idOf(field), field.suggestions)
            }`,
      ),
    /** @param options value and text of each, or the groups in which they are */
    select: (field: Named, options: Options): Html =>
      around(field, (told) => html`<select ${told}>${optionsOf(options, valueOf(field))}</select>`),
    check,
    /** Ticked by who means it: for what cannot be taken back. */
    sure: (hint?: Part): Html =>
      check({ name: 'sure', label: 'I am sure', required: true, ...(hint && { hint }) }),
  }
}

const suggestionList = (field: string, texts: readonly string[]): Html =>
  html`<datalist id="${field}-list">${texts.map(
    (text) => html`<option value="${text}">`,
  )}</datalist>`

/** Has no name, and is not sent: the script puts what it reads into the field. */
const fileInput = (into: string, label: string, file: TextFile): Html =>
  html`<input type="file" hidden data-into="${into}" data-max="${file.maxBytes}" data-else="${
    file.else
  }" accept="${file.accept}" aria-label="${label}, from a file">`

/** What is wrong with a field, as people write it. */
export const sentence = (text: string): string =>
  `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`

type Options = Readonly<Record<string, string | Readonly<Record<string, string>>>>

export const optionsOf = (options: Options, chosen: string): Html =>
  html`${Object.entries(options).map(([value, text]) =>
    typeof text === 'string'
      ? html`<option value="${value}"${flag('selected', value === chosen)}>${text}</option>`
      : html`<optgroup label="${value}">${optionsOf(text, chosen)}</optgroup>`,
  )}`

/** A part of a page that is opened by who wants it. It works without scripts. */
export const fold = (title: Part, content: Part, open = false): Html =>
  html`<details class="fold"${flag('open', open)}><summary><h2>${title}</h2></summary>${content}
</details>`

/** Fields of a list, which GET sends to the page itself: what it shows can be linked to. */
export const filters = (path: string, fields: readonly Part[]): Html =>
  html`<form action="${path}" class="fields" role="search" aria-label="Filter">${fields}
<button type="submit" class="plain">Show</button></form>`

/** A field of a filter. */
export const filterField = (name: string, label: string, input: Html): Html =>
  html`<div><label for="filter-${name}">${label}</label>${input}</div>`
