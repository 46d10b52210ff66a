// Who answers: the providers of plugins, and those that the person describes in the settings.
import type { Provider } from "../contract.ts";
import { type Core, registeredValues } from "../instance.ts";

/** The plugins' providers, and the person's own, each modelled on one of them. */
export function allProviders(core: Core): Map<string, Provider> {
  const providers = new Map(
    registeredValues(core.providers).map((provider) => [provider.name, provider]),
  );
  for (const [name, { like = "" }] of Object.entries(ownSettings(core))) {
    const { url: _, key: __, ...model } = core.providers.get(like)?.value ?? { name: "" };
    if (model.name && !providers.has(name))
      providers.set(name, {
        ...(model as Provider),
        name,
        role: "named",
        key: { variable: variableOf(name) },
      });
  }
  return providers;
}
const variableOf = (providerName: string): string =>
  `${providerName.toUpperCase().replace(/\W/g, "_")}_API_KEY`;

/** The person's provider settings, without the project's. */
export const ownSettings = ({ options: { sources, settings } }: Core) =>
  (sources?.home ?? settings).providers ?? {};
