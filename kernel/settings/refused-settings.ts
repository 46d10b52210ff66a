// What a project says in its settings without being trusted, and why it is left out.
import type { Config, DataRedirect } from "../instance.ts";
import { shortenName } from "../text/did-you-mean.ts";
import type { Shape } from "../text/json-schema.ts";
import { someOf } from "../text/words.ts";

/** Settings of a section that a project may not set without the trust of the person. */
export function refusedSettings(
  sectionName: string,
  { shape, owners }: { shape: Shape; owners: Config[] },
  settings: object,
): string[] {
  if (owners.every(({ project }) => !project)) return [sectionName];
  const mayChange = (settingKey: string) =>
    owners.some(({ project = [] }) => project === true || project.includes(settingKey));
  const isKnown = (settingKey: string) =>
    shape.additionalProperties || Object.hasOwn(shape.properties!, settingKey);
  return Object.keys(settings).flatMap((settingKey) =>
    !mayChange(settingKey) && isKnown(settingKey) ? `${sectionName}.${settingKey}` : [],
  );
}

export function noteOnRedirect(projectFile: string, { setting, from, to }: DataRedirect): string {
  const refusalReason =
    "it would send what you say and your files to " +
    `${shortenName(to)} instead of ${shortenName(from)}`;
  const approvalWays =
    "/trust asks for that by itself; --base-url, --model and your own settings can say it too.";
  return `Left out ${shortenName(setting)} of '${projectFile}': ${refusalReason}. ${approvalWays}`;
}

const MAX_NAMES = 10;

export function noteOnRefused(projectFile: string, refused: string[]): string {
  const refusalReason =
    "a project may not send data elsewhere, loosen what is asked for, or say what runs";
  const refusedNames = someOf(MAX_NAMES, refused, shortenName);
  return (
    `Cannot take ${refusedNames} from '${projectFile}': ${refusalReason}. ` +
    "Trust the folder (--trust, /trust), or set it in your own settings."
  );
}
