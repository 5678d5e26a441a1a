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
export const largestFileInRequest = Math.floor(((6 * 1024 * 1024 - 64 * 1024) * 3) / 4)

/** The settings that limit a file in a request body. */
const fileLimits = [
  ['imports.maxBytes', 'inline'],
  ['codes.import', 'maxBytes'],
] as const

/** Settings whose addresses carry credentials or money. Plain http is allowed on a developer's machine only. */
const encrypted = ['auth.issuers', 'refunds.provider']

/**
 * Finds values that are valid on a developer's machine only, in a profile for a stage on AWS.
 * @returns a line for each setting with such values
 */
export function localValues(profile: unknown, { name, callableFromLocalhost }: Stage): string[] {
  return [
    ...localAddresses(profile, { name, callableFromLocalhost }),
    ...localSizes(profile, name),
    ...localAccounts(profile, name),
  ]
}

function localSizes(profile: unknown, stage: string): string[] {
  const values = profile as Record<string, Record<string, unknown> | undefined> | null
  return fileLimits.flatMap(([key, member]) =>
    Number(values?.[key]?.[member]) > largestFileInRequest
      ? [`  ${key} at ${member}: stage ${stage} accepts at most ${largestFileInRequest} bytes in a request.`]
      : [],
  )
}

/**
 * Finds accounts of the local payment provider, which has one for each tenant. Other providers have no such accounts.
 */
function localAccounts(profile: unknown, stage: string): string[] {
  const values = profile as { 'refunds.account'?: { prefix?: unknown } } | null
  return values?.['refunds.account']?.prefix === 'acct_'
    ? [
        `  refunds.account at prefix: acct_ is for the local run; stage ${stage} names the account of each tenant.`,
      ]
    : []
}

function localAddresses(
  profile: unknown,
  { name, callableFromLocalhost }: Pick<Stage, 'name' | 'callableFromLocalhost'>,
): string[] {
  return Object.entries(profile ?? {})
    .filter(([key]) => !(key === 'cors.allowedOrigins' && callableFromLocalhost))
    .flatMap(([key, value]) => {
      const texts = stringsIn(value)
      const machine = texts.filter((text) => ofThisMachine.test(text))
      if (value === null && key === 'mail.domain') {
        return [`  ${key}: mails from a single address are for the local run; stage ${name} needs a domain.`]
      }
      const examples = texts.filter((text) => example.test(text))
      const plain = texts.filter((text) => /^http:/i.test(text) && !machine.includes(text))
      return [
        ...(machine.length > 0
          ? [`  ${key}: ${machine.join(', ')} is on this machine; stage ${name} is not.`]
          : []),
        ...(examples.length > 0
          ? [`  ${key}: ${examples.join(', ')} is an example; stage ${name} needs an address of yours.`]
          : []),
        ...(plain.length > 0 && encrypted.includes(key)
          ? [`  ${key}: ${plain.join(', ')} is not encrypted; stage ${name} needs https.`]
          : []),
      ]
    })
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}
