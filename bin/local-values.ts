import type { Stage } from '#lib/stage.ts'

const host = String.raw`(?:[a-z0-9-]+\.)*`
/** Addresses that mean this machine, as a URL or as a bare host. */
const ofThisMachine =
  /^(?:https?:\/\/)?(?:localhost|[\w.-]+\.localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])(?=[:/]|$)/i
/** The domains that RFC 2606 and RFC 6761 reserve for documentation and tests: nobody receives mail or requests there. */
const example = new RegExp(
  String.raw`(?:^|[@/\s])${host}(?:example\.(?:com|net|org)|[a-z0-9-]+\.(?:example|test|invalid))(?![\w.-])`,
  'i',
)

/** Settings whose addresses carry credentials or money, so that plain http is for a developer's machine only. */
const encrypted = ['auth.issuers', 'refunds.provider']

/**
 * Finds values that make sense on a developer's machine only, in a profile for a stage on AWS.
 * @returns a line for each setting that holds some
 */
export function localValues(profile: unknown, { name, callableFromLocalhost }: Stage): string[] {
  return Object.entries(profile ?? {})
    .filter(([key]) => !(key === 'cors.allowedOrigins' && callableFromLocalhost))
    .flatMap(([key, value]) => {
      const texts = stringsIn(value)
      const machine = texts.filter((text) => ofThisMachine.test(text))
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
