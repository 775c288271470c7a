import { exampleInput, membersWithoutSample } from '../../../../core/testing/example.ts'
import { collapsible, form, formFields } from '../../form.ts'
import { type Html, html } from '../../html.ts'
import type { PageRequest } from '../../page.ts'
import type { ServiceJson } from './services.ts'

type Endpoint = ServiceJson['endpoints'][number]
type Request = PageRequest<unknown>

const nameOf = ({ method, path }: Endpoint): string => `${method} ${path}`

/** Returns true if nothing but test calls, which can be waived, is missing for the sale. */
const needsOnlyTests = ({ missing }: ServiceJson): boolean =>
  missing.length > 0 && missing.every(({ kind }) => kind === 'test')

/** Lists the parts that a service needs before it can be sold. */
export const missingPart = (service: ServiceJson): Html | undefined =>
  service.missing.length === 0
    ? undefined
    : html`<div class="box fair"><p><strong>Required before activation:</strong></p>
<ul>${service.missing.map(({ what }) => html`<li>${what}</li>`)}</ul>${
        service.untested.length > 0 && html`<p><a href="#test">Send test calls</a></p>`
      }</div>`

/** Forms for the next states. */
export function statePart(service: ServiceJson, request: Request): Html | undefined {
  const { state, missing } = service
  if (state === 'retired' || state === 'suspended') return undefined
  const submit = state === 'paused' ? 'Resume sales' : 'Activate'
  const isReady = (state === 'draft' || state === 'paused') && missing.length === 0
  return html`${state === 'active' && html`<p>${PAUSE_FORM}</p>`}${
    isReady && form({ act: 'activate', submit })
  }${needsOnlyTests(service) && waiverForm(state === 'active' ? 'Sell untested' : submit, request)}`
}

const PAUSE_FORM = form({ act: 'pause', submit: 'Pause sales', kind: 'plain' })

function waiverForm(submit: string, { submission }: Request): Html {
  const waiver = formFields('activate', submission).check({
    name: 'waive_tests',
    label: 'Sell without these test calls',
    hint: 'Buyers see that the endpoints are untested, until a call of theirs was delivered.',
    required: true,
  })
  return form({ act: 'activate', submit, kind: 'plain', fields: [waiver] })
}

/** Form that sends a test call, filled in for the next endpoint that needs one. */
export function testPart(service: ServiceJson, { submission }: Request): Html | undefined {
  const { endpoints, untested } = service
  if (endpoints.length === 0) return undefined
  const { text, select } = formFields('test', submission)
  const next = endpoints.find((each) => untested.includes(nameOf(each))) ?? endpoints[0]!
  const isUntested = (each: Endpoint) => untested.includes(nameOf(each))
  const example = exampleInput(next.input_schema)
  const invented = membersWithoutSample(next.input_schema)
  const fields = form({
    act: 'test',
    submit: 'Send test call',
    kind: 'plain',
    fields: [
      select(
        { name: 'endpoint', label: 'Endpoint', required: true, value: nameOf(next) },
        Object.fromEntries(
          endpoints.map((each) => [
            nameOf(each),
            `${nameOf(each)}${isUntested(each) ? ' (no passing test yet)' : ''}`,
          ]),
        ),
      ),
      text({
        name: 'input',
        label: 'Input (JSON)',
        lines: 3,
        value: JSON.stringify(example),
        ...(invented.length > 0 && {
          hint: `Its schema has no sample for ${invented.join(', ')}: enter real values.`,
        }),
      }),
    ],
  })
  const intro = html`<p>Sends one unpaid call and shows whether a caller would have been
charged. Buyers see the input of the latest call that passed as the sample.</p>`
  const isOpen = submission?.act === 'test' || untested.length > 0
  return html`<div id="test">${collapsible('Test', html`${intro}${fields}`, isOpen)}</div>`
}
