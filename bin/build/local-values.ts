import type { Stage } from '#lib/stage.ts'

const host = String.raw`(?:[a-z0-9-]+\.)*`
/** Matches addresses of this machine, as a URL or as a bare host. */
const ofThisMachine =
  /^(?:https?:\/\/)?(?:localhost|[\w.-]+\.localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])(?=[:/]|$)/i
/**
 * Matches the domains that RFC 2606 and RFC 6761 reserve for documentation and tests: nobody receives mail or requests
 * there.
 */
const example = new RegExp(
  String.raw`(?:^|[@/\s])${host}(?:example\.(?:com|net|org)|[a-z0-9-]+\.(?:example|test|invalid))(?![\w.-])`,
  'i',
)

/**
 * The largest file in a request body on AWS, in bytes. Lambda accepts 6 MB for an invocation. API Gateway encodes the
 * file in base64, which adds a third, and adds the headers and the request context, for which 64 KB are reserved.
 */
const maxFileBytesInRequest = Math.floor(((6 * 1024 * 1024 - 64 * 1024) * 3) / 4)

/** The settings that limit a file in a request body. */
const fileLimitSettings = [
  ['imports.maxBytes', 'inline'],
  ['codes.import', 'maxBytes'],
] as const

/** Settings whose addresses carry credentials or money. Plain http is allowed on a developer's machine only. */
const encrypted = ['auth.issuers', 'refunds.provider']

/**
 * Finds values that are valid on a developer's machine only, in a profile for a stage on AWS.
 * @returns a line for each setting with such values
 */
export function localValues(
  settings: Readonly<Record<string, unknown>>,
  { name, keepsData }: Stage,
): string[] {
  const member = (key: string, path: string) => (settings[key] as Record<string, unknown> | undefined)?.[path]
  const problems = Object.entries(settings)
    // Pages on a developer's machine may call a stage without data of customers.
    .filter(([key]) => keepsData || key !== 'cors.allowedOrigins')
    .flatMap(([key, value]) => localAddresses(key, value, name))
  for (const [key, path] of fileLimitSettings)
    if (Number(member(key, path)) > maxFileBytesInRequest)
      problems.push(
        `${key} at ${path}: stage ${name} accepts at most ${maxFileBytesInRequest} bytes in a request.`,
      )
  if (settings['aws.environment'] === null)
    problems.push(`aws.environment: stage ${name} needs the account and the region of its stack.`)
  if (settings['deliveries.addresses'] === 'public_and_loopback')
    problems.push(
      `deliveries.addresses: subscribers on the machine itself are for the local run; stage ${name} needs public.`,
    )
  if (member('mail.sender', 'domain') === null)
    problems.push(
      `mail.sender at domain: mails from a single address are for the local run; stage ${name} needs a domain.`,
    )
  // The local payment provider has an account for each tenant. Others choose the names of accounts themselves.
  if (member('refunds.account', 'prefix') !== undefined)
    problems.push(`refunds.account at prefix: a prefix is for the local run; stage ${name} needs connected.`)
  return problems.map((problem) => `  ${problem}`)
}

/** The account and the domain of docs/examples, whose operator is somebody else. */
const ofExamples = /(?<![\w-])(?:111122223333|acme\.cloud)(?![\w.-])/

/**
 * Finds values of docs/examples that were not replaced. A profile with them cannot be deployed.
 * @returns a line for each setting with such values
 */
export function exampleValues(settings: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(settings).flatMap(([key, value]) => {
    const examples = stringsIn(value).filter((text) => ofExamples.test(text))
    return examples.length > 0 ? [`  ${key}: ${examples.join(', ')} is of the example: set yours.`] : []
  })
}

function localAddresses(key: string, value: unknown, stage: string): string[] {
  const texts = stringsIn(value)
  const machine = texts.filter((text) => ofThisMachine.test(text))
  const examples = texts.filter((text) => example.test(text))
  const plain = texts.filter((text) => /^http:/i.test(text) && !machine.includes(text))
  const problems: string[] = []
  if (machine.length > 0) problems.push(`${machine.join(', ')} is on this machine; stage ${stage} is not.`)
  if (examples.length > 0)
    problems.push(`${examples.join(', ')} is an example; stage ${stage} needs an address of yours.`)
  if (plain.length > 0 && encrypted.includes(key))
    problems.push(`${plain.join(', ')} is not encrypted; stage ${stage} needs https.`)
  return problems.map((problem) => `${key}: ${problem}`)
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}
