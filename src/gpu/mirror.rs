//! [`mirrored!`]: structs shared by host and device, defined once.

/// A struct that the kernels know, too.
pub(super) trait Mirrored: bytemuck::Pod {
    /// Its definition in CUDA C++.
    const CPP: &'static str;
}

/// Arguments of kernels: a struct whose first fields are addresses in the arena.
pub(super) trait Arguments: bytemuck::Pod {
    /// How many.
    const ADDRESSES: usize;

    /// The kernels that take such a struct, and no others do.
    const KERNELS: &'static [&'static str];
}

/// Defines a struct of plain fields, each with its type in C++, and that definition as text. One `aligned` to 16 bytes is read and
/// written 16 bytes at a time.
macro_rules! mirrored {
    ($(#[$doc:meta])* $(aligned $align:tt)? struct $name:ident {
        $($(#[$field_doc:meta])* $field:ident: $type:ty = $cpp:literal $([$length:literal])?,)*
    }) => {
        $(#[$doc])*
        #[repr(C $(, align($align))?)]
        #[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
        pub(super) struct $name {
            $($(#[$field_doc])* pub(super) $field: $type,)*
        }

        impl crate::gpu::mirror::Mirrored for $name {
            const CPP: &'static str = concat!(
                "struct ", $("alignas(", stringify!($align), ") ",)? stringify!($name), " {\n",
                $("    ", $cpp, " ", stringify!($field), $("[", stringify!($length), "]",)? ";\n",)*
                "};\n",
            );
        }
    };
}

pub(super) use mirrored;

/// The definition of a mirrored struct, and the compiler's word that it has the size it has here.
pub(super) fn definition<T: Mirrored>() -> String {
    let name = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
    format!("{}static_assert(sizeof({name}) == {}, \"size of {name}\");\n", T::CPP, size_of::<T>())
}
