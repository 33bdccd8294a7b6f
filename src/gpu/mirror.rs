//! [`mirrored!`]: structs shared by host and device, defined once.

/// A struct that is also defined in the kernels.
pub(super) trait Mirrored: bytemuck::Pod {
    /// Definition of the struct in CUDA C++.
    const CPP: &'static str;
}

/// Arguments of kernels: a struct whose first fields are addresses in the arena.
pub(super) trait Arguments: bytemuck::Pod {
    /// Number of addresses.
    const ADDRESSES: usize;

    /// All kernels that take this struct.
    const KERNELS: &'static [&'static str];
}

/// Defines a struct of plain fields, each with its C++ type, and its C++ definition as text. A struct that is `aligned` to 16
/// bytes is read and written 16 bytes at a time.
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

/// The C++ definition of a mirrored struct, with an assertion that its size is the same as in Rust.
pub(super) fn definition<T: Mirrored>() -> String {
    let name = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
    format!("{}static_assert(sizeof({name}) == {}, \"size of {name}\");\n", T::CPP, size_of::<T>())
}
