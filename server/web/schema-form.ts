import type { ServiceEndpoint } from '../../core/catalog/services/published-services.ts'
import { Fault } from '../../core/errors.ts'
import { isJsonObject, type JsonObject, objectMember } from '../../core/json.ts'
import { exampleInput, resolveParts, sampleOf } from '../../core/testing/example.ts'
import type { formFields } from './form.ts'
import { type Html, html } from './html.ts'
import { fieldDescription, typeName } from './schema-fields.ts'

/** Form field for one member of an input, or for all of it. */
interface InputField {
  /** Member of the input; null: the input itself, as JSON. */
  readonly member: string | null
  readonly schema: JsonObject
  readonly isRequired: boolean
  readonly kind: 'text' | 'number' | 'choice' | 'json'
}

/** Larger schemas get a single field for JSON. */
const FIELDS_MAX = 50
const CHOICES_MAX = 100
/** Characters; longer texts get several rows. */
const LINE_LENGTH = 120
const ROWS = 4
/** Keeps members apart from the other fields of the form, such as `act`. */
const PREFIX = 'in-'

const nameOf = ({ member }: InputField): string => `${PREFIX}${member ?? ''}`

/** Lists the fields for an input schema, the required ones first. */
export function inputFieldsOf(schema: unknown): readonly InputField[] {
  const whole = isJsonObject(schema) ? schema : {}
  const { properties, required } = whole
  if (!isJsonObject(properties) || Object.keys(properties).length > FIELDS_MAX) {
    return [{ member: null, schema: whole, isRequired: true, kind: 'json' }]
  }
  const names: readonly unknown[] = Array.isArray(required) ? required : []
  const definitions = objectMember(whole, '$defs')
  return Object.entries(properties)
    .map(([member, each]) => {
      const own = { ...resolveParts(each, definitions), $defs: definitions }
      return { member, schema: own, isRequired: names.includes(member), kind: kindOf(own) }
    })
    .toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired))
}

function kindOf(schema: JsonObject): InputField['kind'] {
  if (schema['type'] === 'boolean' || choicesOf(schema)) return 'choice'
  if (schema['type'] === 'string') return 'text'
  return schema['type'] === 'number' || schema['type'] === 'integer' ? 'number' : 'json'
}

/** Values of an `enum`, if a list of options can show them. */
function choicesOf({ type, enum: values }: JsonObject): readonly unknown[] | undefined {
  if (type === 'boolean') return [true, false]
  return Array.isArray(values) && values.length <= CHOICES_MAX ? values : undefined
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value, null, 2)

/**
 * Renders the fields, filled with the sample; required ones that it lacks are filled with an
 * example, default or choice of the schema, or empty.
 * @param sample input of a call that was delivered
 */
export function inputFormFields(
  fields: readonly InputField[],
  sample: JsonObject | null,
  builders: ReturnType<typeof formFields>,
): readonly Html[] {
  return fields.map((field) => {
    const { member, schema, isRequired: required, kind } = field
    const value =
      member === null
        ? (sample ?? sampleOf(schema))
        : (sample?.[member] ?? (required ? sampleOf(schema) : undefined))
    const common = {
      name: nameOf(field),
      label: member ?? 'Input (JSON)',
      hint: html`${typeName(schema)}${kind === 'json' && ', as JSON'}. ${fieldDescription(schema)}`,
      required,
      ...(value !== undefined && { value: textOf(value) }),
    }
    if (kind === 'choice') return builders.select(common, optionsOf(field))
    const isLong = kind === 'text' && Number(schema['maxLength'] ?? Infinity) > LINE_LENGTH
    const isLine = schema['format'] !== undefined || kind === 'number'
    return builders.text({
      ...common,
      ...(kind === 'number' && { numeric: true }),
      ...((kind === 'json' || (isLong && !isLine)) && { lines: ROWS }),
    })
  })
}

function optionsOf({ schema, isRequired }: InputField): Readonly<Record<string, string>> {
  const texts = (choicesOf(schema) ?? []).map(textOf)
  return {
    ...(isRequired ? {} : { '': 'Not set' }),
    ...Object.fromEntries(texts.map((text) => [text, text])),
  }
}

/**
 * Reads the input from submitted fields. Optional fields without a value are left out.
 * @throws Fault `validation_failed` for JSON that cannot be parsed
 */
export function readInputFields(
  fields: readonly InputField[],
  values: Readonly<Record<string, unknown>>,
): unknown {
  const read = fields.flatMap((field): readonly (readonly [string, unknown])[] => {
    const value = values[nameOf(field)]
    const text = typeof value === 'string' ? value.replaceAll('\r\n', '\n') : ''
    if (text === '' && !field.isRequired) return []
    return [[field.member ?? '', valueOf(field, text)]]
  })
  return fields[0]?.member === null ? read[0]?.[1] : Object.fromEntries(read)
}

/**
 * Returns the submitted input, or the sample, or an example with placeholders, if nothing readable
 * was submitted.
 */
export function submittedInput(
  { inputSchema, sample }: Pick<ServiceEndpoint, 'inputSchema' | 'sample'>,
  values: Readonly<Record<string, unknown>> | undefined,
): unknown {
  const example = sample ?? exampleInput(inputSchema)
  if (!values) return example
  try {
    return readInputFields(inputFieldsOf(inputSchema), values)
  } catch {
    return example
  }
}

/** Converts text to the declared type; what cannot be converted is left to the schema's check. */
function valueOf(field: InputField, text: string): unknown {
  const { kind, schema } = field
  if (kind === 'text') return text
  if (kind === 'choice') return choicesOf(schema)?.find((each) => textOf(each) === text) ?? text
  if (kind === 'number') return text.trim() === '' ? text : (toNumber(text) ?? text)
  try {
    return JSON.parse(text)
  } catch (error) {
    const issues = [{ path: `/${nameOf(field)}`, message: 'must be JSON' }]
    throw new Fault('validation_failed', undefined, { extras: { issues }, cause: error })
  }
}

const toNumber = (text: string): number | undefined => {
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}

/** Returns a copy of an input error whose issues name the fields of the form. */
export function withFieldIssues(fault: Fault): Fault {
  const { issues } = fault.extras
  if (!Array.isArray(issues)) return fault
  const renamed = (issues as readonly { path: string; message: string }[]).map((issue) => {
    const [, member = ''] = issue.path.split('/')
    return member.startsWith(PREFIX) ? issue : { ...issue, path: `/${PREFIX}${member}` }
  })
  return fault.with({ extras: { ...fault.extras, issues: renamed } })
}
